import type { Context } from '../framework/context.ts';
import { ambiguousError, notFoundError } from '../framework/find-errors.ts';
import type { Item } from '../sdk.ts';

export type Volume = Item<'listStorageVolumes'>;

/** Finds a volume by its id or its label, which is unique. */
export async function findVolume(context: Context, words: string): Promise<Volume> {
  const found: Volume[] = [];
  for await (const volume of context.client().volumes.list({}, { signal: context.signal })) {
    if (String(volume.id) === words || volume.label === words || volume.externalId === words)
      found.push(volume);
  }
  const [volume, second] = found;
  if (volume === undefined) throw notFoundError('volume', words, 'millrace volume list');
  // A label may look like an id.
  if (second !== undefined)
    throw ambiguousError(
      'volumes',
      words,
      found.map(({ id, label }) => `${id} (${label})`),
    );
  return volume;
}

export async function findVolumeId(context: Context, words: string): Promise<number> {
  return (await findVolume(context, words)).id;
}
