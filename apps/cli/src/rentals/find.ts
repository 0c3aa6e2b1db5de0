import type { Context } from '../framework/context.ts';
import { ambiguousError, notFoundError } from '../framework/find-errors.ts';
import type { Output } from '../sdk.ts';

export { rentalHandle as handleOf } from '@millrace/sdk/text';

export type Rental = Output<'getRental'>;

interface NamedRental {
  readonly id: number;
  readonly names: readonly (string | null)[];
}

/** Finds a rental by its id, name, label or external id. */
export async function findRental(
  context: Context,
  words: string,
  options: { readonly ended?: true } = {},
): Promise<Rental> {
  return context
    .client()
    .rentals.get({ rentalId: await findRentalId(context, words, options) }, { signal: context.signal });
}

export async function findRentalId(
  context: Context,
  words: string,
  { ended = false }: { readonly ended?: boolean } = {},
): Promise<number> {
  if (/^\d{1,10}$/.test(words)) return Number(words);
  const live = await findMatches(words, liveRentals(context));
  const [first, second] =
    live.length > 0 || !ended ? live : await findMatches(words, endedRentals(context), 1);
  if (first === undefined) throw notFoundError('rental', words, 'millrace rental list');
  if (second === undefined) return first.id;
  throw ambiguousError(
    'rentals',
    words,
    live.map(({ id }) => id),
  );
}

async function findMatches(
  words: string,
  all: AsyncIterable<NamedRental>,
  most = 10,
): Promise<readonly NamedRental[]> {
  const found: NamedRental[] = [];
  for await (const each of all) {
    if (!each.names.includes(words)) continue;
    found.push(each);
    if (found.length >= most) break;
  }
  return found;
}

async function* liveRentals(context: Context): AsyncIterable<NamedRental> {
  const { rentals } = context.client();
  for await (const each of rentals.listVirtualMachines({ limit: 200 }, { signal: context.signal }))
    yield toNamedRental(each.id, each);
  for await (const each of rentals.listBareMetal({}, { signal: context.signal }))
    yield toNamedRental(each.id, each);
}

/** Newest first, because a reused name means the last rental. */
async function* endedRentals(context: Context): AsyncIterable<NamedRental> {
  const { rentals } = context.client();
  for await (const each of rentals.listHistory({ limit: 200 }, { signal: context.signal }))
    yield toNamedRental(each.rentalId, each);
}

function toNamedRental(
  id: number,
  rental: { readonly name: string | null; readonly label: string | null; readonly externalId: string },
): NamedRental {
  return { id, names: [rental.name, rental.label, rental.externalId] };
}
