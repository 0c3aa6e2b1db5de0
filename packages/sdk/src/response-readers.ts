import { ConnectionError } from './errors.ts';
import type { OperationEntry } from './operation-entry.ts';
import type { ResponseReader } from './transport.ts';

export function readerOf(entry: OperationEntry): ResponseReader<unknown> {
  switch (entry.responseKind) {
    case 'nothing':
      return async (response) => void (await response.arrayBuffer());
    case 'bytes':
      return async (response) => new Uint8Array(await response.arrayBuffer());
    case 'text':
      return (response) => response.text();
    default:
      return readJson;
  }
}

/** Invalid JSON means that the response was truncated or came from a proxy. */
async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConnectionError('The response is not complete JSON.', { cause });
  }
}
