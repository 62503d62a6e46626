"""Uses of roma: rotations in their several forms."""

import roma
import torch

LIBRARY = "roma"


def forms() -> object:
    q = roma.random_unitquat(5)
    r = roma.unitquat_to_rotmat(q)
    return q, r, roma.rotmat_to_rotvec(r), roma.unitquat_slerp(q[0], q[1], torch.linspace(0, 1, 4))


def the_nearest() -> object:
    m = torch.randn(4, 3, 3, requires_grad=True)
    r = roma.special_procrustes(m)
    r[:, 0].sum().backward()
    return r, m.grad, roma.rigid_points_registration(torch.randn(6, 3), torch.randn(6, 3))
