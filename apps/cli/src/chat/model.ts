import type { Item, Millrace } from '../sdk.ts';
import { UsageError } from '../framework/errors.ts';

type Modality = Item<'listModels'>['modality'];

export const modelFlag = {
  type: 'text',
  short: 'm',
  value: 'NAME',
  describe: 'the model; required if several are available',
} as const;

/** The named model, or the only one. The CLI never chooses among several, because prices differ. */
export async function chooseModel(
  client: Millrace,
  named: string | undefined,
  modalities: readonly Modality[],
): Promise<string> {
  if (named !== undefined) return named;
  const { data } = (await client.models.list()).response;
  const fitting = data.filter(({ modality }) => modalities.includes(modality)).map(({ id }) => id);
  const [only, ...others] = fitting;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined)
    throw new UsageError('No suitable model is available to this key.', { fix: 'millrace models' });
  throw new UsageError(`Several models are available (${fitting.length}): ${shortList(fitting)}.`, {
    fix: `Add --model ${only}, or compare their prices: millrace models`,
  });
}

const shownModels = 5;

function shortList(names: readonly string[]): string {
  const more = names.length - shownModels;
  return names.slice(0, shownModels).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
