import { ConnectionError } from './errors.ts';
import type { OperationEntry } from './operation-entry.ts';
import type { ResponseReader } from './transport.ts';

/** How the plain answer of an operation is read. */
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

/** JSON that cannot be parsed is an answer that was cut, or somebody else's. */
async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConnectionError('The answer is no whole JSON.', { cause });
  }
}
