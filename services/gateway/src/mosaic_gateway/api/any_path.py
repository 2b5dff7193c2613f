"""A path parameter with whatever a file name may have in it; the framework's own `path` ends at a line end."""

from starlette.convertors import PathConvertor, register_url_convertor


class _AnyPath(PathConvertor):
    regex = r"[\s\S]*"


register_url_convertor("any_path", _AnyPath())
ANY_PATH = "{path:any_path}"
"""Last part of a route: the parameter `path`."""
