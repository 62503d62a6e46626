"""Uses of stable-baselines3: learning from a tiny environment."""

import gymnasium as gym
import numpy as np
from stable_baselines3 import DQN, PPO

LIBRARY = "stable-baselines3"


class _Line(gym.Env):
    """Walk to the right end of a line."""

    observation_space = gym.spaces.Box(-5.0, 5.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.steps = 0.0, 0
        return np.array([self.at], np.float32), {}

    def step(self, action):
        self.at += 1.0 if action else -1.0
        self.steps += 1
        return np.array([self.at], np.float32), self.at, abs(self.at) >= 4, self.steps >= 20, {}


def ppo() -> object:
    model = PPO("MlpPolicy", _Line(), n_steps=64, batch_size=32, n_epochs=2, seed=0, device="cpu")
    model.learn(128)
    return [p.abs().sum() for p in model.policy.parameters()], model.predict(
        np.zeros(1, np.float32), deterministic=True
    )[0]


def dqn_saved_and_loaded() -> object:
    model = DQN("MlpPolicy", _Line(), learning_starts=16, train_freq=4, batch_size=8, seed=0, device="cpu")
    model.learn(64)
    model.save("walker")
    again = DQN.load("walker", device="cpu")
    return [p.abs().sum() for p in again.policy.parameters()]
