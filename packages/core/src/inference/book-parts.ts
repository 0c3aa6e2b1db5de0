import { createHash } from 'node:crypto';
import { bookKeys, type ContractPartEntry, type ModelEntry } from './book.ts';

/** Divides a model's entry that is too large for one message of the broker, whose limit is 1 MiB. Pure. */

/** Leaves room for the rest of the entry and for contracts that are added at the same time. */
const mostBytes = 524_288;
const mostParts = 4_096;

/** The texts that stand in the bucket for one row. */
export interface EntryTexts {
  /** Null: no entry stands there. */
  readonly text: string | null;
  /** By their keys in the bucket; written before `text`, which says how many they are. */
  readonly parts: ReadonlyMap<string, string>;
}

const noParts: ReadonlyMap<string, string> = new Map();

export function wholeEntry(entry: object | null): EntryTexts {
  return { text: entry === null ? null : JSON.stringify(entry), parts: noParts };
}

/** The contract prices stay in the model's entry while it is small: gateways of earlier releases can read only that form. */
export function modelTexts(entry: ModelEntry | null): EntryTexts {
  const whole = wholeEntry(entry);
  if (entry === null || whole.text === null || Buffer.byteLength(whole.text) <= mostBytes) return whole;
  const contracts = Object.entries(entry.contractPrices).map((contract) => ({
    contract,
    place: placeOf(contract[0]),
  }));
  if (contracts.length === 0) return whole;
  for (let count = 2; count <= mostParts; count *= 2) {
    const divided = Map.groupBy(contracts, ({ place }) => place % count);
    const texts = Array.from({ length: count }, (_, part) =>
      partText((divided.get(part) ?? []).map(({ contract }) => contract)),
    );
    if (texts.some((text) => Buffer.byteLength(text) > mostBytes)) continue;
    const { contractPrices: _, ...rest } = entry;
    return {
      text: JSON.stringify({ ...rest, contractPrices: {}, contractParts: count } satisfies ModelEntry),
      parts: new Map(texts.map((text, part) => [bookKeys.contractPart(entry.name, count, part), text])),
    };
  }
  throw new Error(
    `The contract prices of the model ${entry.name} do not fit into ${mostParts} entries of ${mostBytes} bytes. ` +
      'End contract prices that are no longer needed.',
  );
}

function partText(contracts: readonly (readonly [string, ModelEntry['contractPrices'][string]])[]): string {
  const contractPrices = Object.fromEntries(contracts);
  return JSON.stringify({ version: 1, contractPrices } satisfies ContractPartEntry);
}

/** Depends on the organisation alone: contracts of others that come and go never move it to another part. */
function placeOf(orgId: string): number {
  return createHash('sha256').update(orgId).digest().readUInt32BE(0);
}
