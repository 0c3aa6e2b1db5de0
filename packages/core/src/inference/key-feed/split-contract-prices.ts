import { createHash } from 'node:crypto';
import { keyFeedKeys, type ContractPartEntry, type ModelEntry } from '../key-feed.ts';

/** Splits a model entry that is too large for one NATS message (1 MiB). Pure. */

/** Leaves room for the rest of the entry and for contracts that are added at the same time. */
const maxEntryBytes = 524_288;
const maxPieces = 4_096;

/** The texts in the bucket for one row. */
export interface EntryPayloads {
  /** Null: no entry. */
  readonly text: string | null;
  /** By their keys in the bucket; written before `text`, which has their number. */
  readonly pieces: ReadonlyMap<string, string>;
}

const noPieces: ReadonlyMap<string, string> = new Map();

export function singlePayload(entry: object | null): EntryPayloads {
  return { text: entry === null ? null : JSON.stringify(entry), pieces: noPieces };
}

/** Contract prices stay in a small model entry, because older gateways can read only that form. */
export function modelPayloads(entry: ModelEntry | null): EntryPayloads {
  const whole = singlePayload(entry);
  if (entry === null || whole.text === null || Buffer.byteLength(whole.text) <= maxEntryBytes) return whole;
  const contracts = Object.entries(entry.contractPrices).map((contract) => ({
    contract,
    place: organisationHash(contract[0]),
  }));
  if (contracts.length === 0) return whole;
  for (let count = 2; count <= maxPieces; count *= 2) {
    const divided = Map.groupBy(contracts, ({ place }) => place % count);
    const texts = Array.from({ length: count }, (_, part) =>
      partPayload((divided.get(part) ?? []).map(({ contract }) => contract)),
    );
    if (texts.some((text) => Buffer.byteLength(text) > maxEntryBytes)) continue;
    const { contractPrices: _, ...rest } = entry;
    return {
      text: JSON.stringify({ ...rest, contractPrices: {}, contractParts: count } satisfies ModelEntry),
      pieces: new Map(texts.map((text, part) => [keyFeedKeys.contractPart(entry.name, count, part), text])),
    };
  }
  throw new Error(
    `The contract prices of the model ${entry.name} do not fit into ${maxPieces} entries of ${maxEntryBytes} bytes. ` +
      'End contract prices that are no longer needed.',
  );
}

function partPayload(
  contracts: readonly (readonly [string, ModelEntry['contractPrices'][string]])[],
): string {
  const contractPrices = Object.fromEntries(contracts);
  return JSON.stringify({ version: 1, contractPrices } satisfies ContractPartEntry);
}

/** Depends on the organisation alone, so that contracts of others never move it to another part. */
function organisationHash(orgId: string): number {
  return createHash('sha256').update(orgId).digest().readUInt32BE(0);
}
