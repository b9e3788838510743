"""The tool-runner with one tool that costs nothing, so that the price of running a tool shows without the tool's own.

Run as `python -m tests.bench.tool_runner`.
"""

from functools import partial

from askbus.bus.envelope import Service
from askbus.records.describe import Description
from askbus.runtime.service import main
from askbus.tools.arguments import DescribeRecords
from askbus.tools.catalogue import DESCRIBE_RECORDS
from askbus_tool_runner.app import make_app
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.registry import BUILT_IN, Tool

CONSTANT = Description(collections=(), names_only=("orders", "customers"))


async def constant(_context: Context, _request: DescribeRecords) -> Description:
    return CONSTANT


TOOLS = tuple(Tool(tool.spec, constant) if tool.spec is DESCRIBE_RECORDS else tool for tool in BUILT_IN)

if __name__ == "__main__":
    main(Service.TOOL_RUNNER, partial(make_app, tools=TOOLS))
