import { z } from 'zod';

/** The position of a database. The generation, which a confirmed restore raises, compares first. Pure. */
export interface RestoreMark {
  readonly generation: number;
  readonly mark: number;
}

/** Numbers that clients have received, so a restored database must not use them again. */
export interface Counters {
  readonly invoices: number;
  /** The next wire id of each block, by kind and block: `rental/0`. */
  readonly wireIds: Readonly<Record<string, number>>;
}

export interface MarkCopy extends RestoreMark {
  readonly at: string;
  readonly counters: Counters;
}

const count = z.int().min(0);
const markCopySchema = z.object({
  generation: count,
  mark: count,
  at: z.string().max(40),
  counters: z.object({ invoices: count, wireIds: z.record(z.string().max(40), count) }),
});

export function isMarkAhead(one: RestoreMark, other: RestoreMark): boolean {
  return one.generation === other.generation ? one.mark > other.mark : one.generation > other.generation;
}

/** Null for a text that no worker of this release wrote, which proves nothing. */
export function parseMarkCopy(text: string): MarkCopy | null {
  try {
    return markCopySchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The newest copy, with the highest value of each counter. */
export function newestCopy(marks: readonly MarkCopy[]): MarkCopy | null {
  return marks.reduce<MarkCopy | null>((newest, each) => {
    if (newest === null) return each;
    const [later, earlier] = isMarkAhead(each, newest) ? [each, newest] : [newest, each];
    const wireIds = { ...later.counters.wireIds };
    for (const [block, next] of Object.entries(earlier.counters.wireIds)) {
      wireIds[block] = Math.max(wireIds[block] ?? 0, next);
    }
    const invoices = Math.max(later.counters.invoices, earlier.counters.invoices);
    return { ...later, counters: { invoices, wireIds } };
  }, null);
}

/** After the restore of that generation, lease epochs start above this: no earlier lease can have reached it. */
export function minEpochOf(generation: number): bigint {
  return BigInt(generation - 1) * 2n ** 32n;
}
