"""DeviceMesh: the processes of a program in rows and columns. There is one process, so each side is 1 long."""

import math

from .. import _C


class DeviceMesh:
    """`mesh` holds ranks; `mesh_dim_names` names its dimensions, and mesh[name] is the mesh of one of them."""

    def __init__(self, device_type, mesh, *, mesh_dim_names=None):
        from ._setup import init_process_group, is_initialized
        from ._store import HashStore

        self.mesh = mesh if isinstance(mesh, _C.Tensor) else _C.tensor(mesh, dtype=_C.int32)
        if self.mesh.flatten().tolist() != [0]:
            raise RuntimeError(f"a mesh of ranks {self.mesh.tolist()} is too large: there is one process, of rank 0")
        if mesh_dim_names is not None and len(mesh_dim_names) != self.mesh.dim():
            raise RuntimeError(f"a mesh of {self.mesh.dim()} dimensions has as many names, got {tuple(mesh_dim_names)}")
        if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"names of dimensions differ, got {tuple(mesh_dim_names)}")
        if not is_initialized():
            init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
        self.device_type = device_type
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)

    @property
    def ndim(self):
        return self.mesh.dim()

    @property
    def shape(self):
        return tuple(self.mesh.shape)

    def size(self, mesh_dim=None):
        """How many processes, along one dimension or in all: 1."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def _place(self, mesh_dim):
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(f"no dimension of the mesh is named {mesh_dim!r}")
            return self.mesh_dim_names.index(mesh_dim)
        return mesh_dim

    def get_group(self, mesh_dim=None):
        """The group of a dimension. RuntimeError if it is not said which of several."""
        from ._group import member

        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"the mesh has {self.ndim} dimensions: say of which the group is wanted")
        self.size(self._place(mesh_dim))
        return member(None)

    def get_all_groups(self):
        """The groups of all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_rank(self):
        """The rank of this process: 0."""
        return 0

    def get_local_rank(self, mesh_dim=None):
        """Its place along a dimension: 0."""
        self.get_group(mesh_dim)
        return 0

    def get_coordinate(self):
        """Its place along each dimension."""
        return [0] * self.ndim

    def __getitem__(self, names):
        names = (names,) if isinstance(names, str) else tuple(names)
        for name in names:
            self._place(name)
        return DeviceMesh(self.device_type, _C.zeros((1,) * len(names), dtype=_C.int32), mesh_dim_names=names)

    def __eq__(self, other):
        same = isinstance(other, DeviceMesh) and self.shape == other.shape
        return same and (self.device_type, self.mesh_dim_names) == (other.device_type, other.mesh_dim_names)

    def __hash__(self):
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __repr__(self):
        if self.mesh_dim_names is None:
            return f"DeviceMesh({self.mesh.tolist()})"
        sides = ", ".join([f"{name}={side}" for name, side in zip(self.mesh_dim_names, self.shape)])
        return f"DeviceMesh(({sides}), device: '{self.device_type}')"


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """The mesh of all processes, of which there is one: RuntimeError for sides other than 1."""
    if not device_type.isalpha():
        raise RuntimeError(f"a kind of device is a word such as 'cpu', got {device_type!r}")
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError(f"a mesh of {len(mesh_shape)} dimensions has as many names, got {tuple(mesh_dim_names)}")
    if math.prod(mesh_shape) != 1:
        raise RuntimeError(f"a mesh of sides {tuple(mesh_shape)} has not 1 process, as there is")
    return DeviceMesh(device_type, _C.zeros(tuple(mesh_shape), dtype=_C.int32), mesh_dim_names=mesh_dim_names)
