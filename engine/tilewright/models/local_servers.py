"""A model on this machine: the servers that people run, at the addresses they use by default."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from tilewright.errors import InputError
from tilewright.models.endpoint import Endpoint, Loop
from tilewright.models.faults import FaultError
from tilewright.models.keys import key_for
from tilewright.models.model import ModelError
from tilewright.models.prices import is_local
from tilewright.models.settings import default_base_url

SERVERS: Mapping[str, str] = MappingProxyType({
    "vLLM": "http://localhost:8000/v1",
    "Ollama": "http://localhost:11434/v1",
    "llama.cpp": "http://localhost:8080/v1",
    "LM Studio": "http://localhost:1234/v1",
})  # fmt: skip
_SECONDS = 3.0


def local_server(servers: Mapping[str, str] = SERVERS) -> tuple[str, str]:
    """The base URL of the first server that answers, and the first model that it lists.

    OPENAI_BASE_URL comes first if it names a server on this machine.

    Raises InputError if none answers.
    """
    own = default_base_url()
    places = {**({"OPENAI_BASE_URL": own} if is_local(own) else {}), **servers}
    loop, tried = Loop(), []
    try:
        for name, base_url in places.items():
            models, why = loop.run(_models(base_url))
            if models:
                return base_url, models[0]
            tried.append(f"{name} at {base_url} ({why})")
    finally:
        loop.close()
    raise InputError(
        f"no server for language models runs on this machine; tried {', '.join(tried)}; start one, "
        "or name its address in OPENAI_BASE_URL"
    )


async def _models(base_url: str) -> tuple[tuple[str, ...], str]:
    endpoint = Endpoint(base_url, key_for(base_url), _SECONDS)
    try:
        async with asyncio.timeout(_SECONDS):
            return await endpoint.models(), "it lists no model"
    except TimeoutError:
        return (), "no answer"
    except FaultError as error:
        return (), f"status {error.fault.status}"
    except ModelError as error:
        return (), str(error).removeprefix(f"{base_url} ")
    finally:
        await endpoint.close()
