"""Optimisers' rules in CUDA, apart from CuPy, so that tools/check_kernels.py compiles them anywhere: what each kernel computes from a parameter's numbers."""

from __future__ import annotations

# kernel -> (names of h in order, statements over p, g and the states a, b, c). Numbers are double, T is how
# arrays are stored and A what is computed with; arithmetic on numbers alone stays double.
_DECAY = "if (MAXIMIZE) g = -g; if (decay != 0) g += (A)decay * p;"
_MOMENTS = "a = toward(a, g, 1 - beta1); b = b * (A)beta2 + (A)(1 - beta2) * g * g;"
_SHRINK = "double decay = h[1]; if (DECOUPLED) { p *= (A)(1 - lr * decay); decay = 0; }"
RULES: dict[str, tuple[str, str]] = {
    "sgd_update": (
        "lr decay momentum dampening",
        f"""{_DECAY}
        if (ARRAYS > 2) {{
            a = FIRST ? g : a * (A)momentum + (A)(1 - dampening) * g;
            g = NESTEROV ? g + (A)momentum * a : a;
        }}
        p -= (A)lr * g;""",
    ),
    "velocity_update": ("lr momentum", "a = a * (A)momentum - (A)lr * g; p += a;"),  # DeZero's
    "adam_update": (
        "lr _ beta1 beta2 eps c1 c2",
        f"""{_SHRINK} {_DECAY} {_MOMENTS}
        A v = b;
        if (ARRAYS > 4) {{ c = max_of(c, b); v = c; }}
        p -= (A)(lr / c1) * a / (root(v) / (A)c2 + (A)eps);""",
    ),
    "adamax_update": (
        "lr decay beta1 beta2 eps c1",
        f"""{_DECAY}
        a = toward(a, g, 1 - beta1);
        b = max_of((A)beta2 * b, abs_of(g) + (A)eps);
        p -= (A)(lr / c1) * a / b;""",
    ),
    "nadam_update": (
        "lr _ beta1 beta2 eps c2 by_g by_m",
        f"""{_SHRINK} {_DECAY} {_MOMENTS}
        A scale = root(b / (A)c2) + (A)eps;
        p -= (A)by_g * g / scale;
        p -= (A)by_m * a / scale;""",
    ),
    "radam_update": (
        "lr _ beta1 beta2 eps c1 adaptive",
        f"""{_SHRINK} {_DECAY} {_MOMENTS}
        A step = a / (A)c1;
        if (adaptive != 0) step *= (A)adaptive / (root(b) + (A)eps);
        p -= (A)lr * step;""",
    ),
    "rmsprop_update": (
        "lr decay alpha eps factor",
        f"""{_DECAY}
        a = a * (A)alpha + (A)(1 - alpha) * g * g;
        A scale = a;
        if (CENTERED) {{ b = toward(b, g, 1 - alpha); scale = a - b * b; }}
        A step = g / (root(scale) + (A)eps);
        if (MOMENTUM) {{
            A& held = CENTERED ? c : b;
            held = held * (A)factor + step;
            step = held;
        }}
        p -= (A)lr * step;""",
    ),
    "adagrad_update": ("lr decay eps", f"{_DECAY} a += g * g; p -= (A)lr * g / (root(a) + (A)eps);"),
    "adadelta_update": (
        "lr decay rho eps",
        f"""{_DECAY}
        a = a * (A)rho + (A)(1 - rho) * g * g;
        A step = root(b + (A)eps) / root(a + (A)eps) * g;
        b = b * (A)rho + (A)(1 - rho) * step * step;
        p -= (A)lr * step;""",
    ),
    "rprop_update": (
        "shrink grow smallest largest",
        """if (MAXIMIZE) g = -g;
        A agree = g * a;
        b *= agree > (A)0 ? (A)grow : agree < (A)0 ? (A)shrink : (A)1;
        b = b < (A)smallest ? (A)smallest : b > (A)largest ? (A)largest : b;
        if (agree < (A)0) g = (A)0;
        p -= sign_of(g) * b;
        a = g;""",
    ),
    "asgd_update": (
        "eta decay shrink mu",
        f"{_DECAY} p *= (A)shrink; p -= (A)eta * g; a = mu == 1 ? p : a + (A)mu * (p - a);",
    ),
    "muon_momentum_update": ("momentum", "a = toward(a, g, 1 - momentum); p = NESTEROV ? toward(g, a, momentum) : a;"),
    "muon_update": ("lr decay", "p *= (A)(1 - lr * decay); p -= (A)lr * g;"),
}


def with_rule(name: str, text: str) -> str:
    """The text of update.cu with an optimiser's rule in it."""
    numbers, body = RULES[name]
    named = [f"const double {n} = h[{i}]; " for i, n in enumerate(numbers.split()) if n != "_"]
    return text.replace("RULE\n", "".join(named) + body + "\n", 1)
