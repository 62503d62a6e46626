"""Uses of Keras with PyTorch as its engine: training, and a layer of its own with gradients."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

LIBRARY = "keras"


def training() -> object:
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
    y = (x.sum(1) > 0).astype("int64")
    model = keras.Sequential([
        keras.Input((8,)), keras.layers.Dense(16, activation="relu", kernel_initializer=keras.initializers.Constant(0.1)),
        keras.layers.BatchNormalization(), keras.layers.Dense(2, kernel_initializer=keras.initializers.Identity()),
    ])  # fmt: skip
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    told = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
    return told.history["loss"], told.history["accuracy"], model.predict(x[:4], verbose=0)


def a_convolutional_net_and_its_file() -> object:
    keras.utils.set_random_seed(0)
    x = np.random.default_rng(0).normal(size=(4, 8, 8, 3)).astype("float32")
    inputs = keras.Input((8, 8, 3))
    h = keras.layers.Conv2D(4, 3, padding="same", activation="gelu", kernel_initializer="ones")(
        inputs
    )
    h = keras.layers.GlobalAveragePooling2D()(keras.layers.MaxPooling2D()(h))
    model = keras.Model(inputs, keras.layers.Dense(3, kernel_initializer="ones")(h))
    model.save("net.keras")
    again = keras.models.load_model("net.keras")
    return model.predict(x, verbose=0), again.predict(x, verbose=0)


def gradients_by_hand() -> object:
    layer = keras.layers.Dense(3, kernel_initializer="ones", activation="tanh")
    x = torch.linspace(-1, 1, 8).reshape(2, 4)
    loss = keras.ops.mean(keras.ops.square(layer(x)))
    loss.backward()
    return loss, [v.value.grad for v in layer.trainable_weights]
