import type { Output, Item, Millrace } from '../sdk.ts';
import { defineCommand } from '../framework/command.ts';
import { CliError } from '../framework/errors.ts';
import { exitCodes } from '../framework/exit-codes.ts';
import { printList } from '../framework/output.ts';
import { inMode, noteTestMode, withLive } from '../money/mode.ts';
import { usdText } from '@millrace/sdk/text';

type Model = Item<'listModels'>;
type Price = Output<'getModelPrice'>;
type PricedModel = Model & { readonly price: Price | null };

const PRICE_CONCURRENCY = 8;

export const command = defineCommand({
  name: 'models',
  summary: 'List the models that this key can use, with prices',
  description:
    'The current prices of your organisation: per million tokens, per image, per thousand characters.',
  positionals: [{ name: 'name', optional: true, many: true, describe: 'only these models' }],
  flags: { prices: { type: 'boolean', describe: 'include prices; --no-prices is faster' } },
  examples: {
    'millrace models': 'All models',
    'millrace models millrace-tiny --json': 'One model with all prices, for a script',
  },
  operations: ['listModels', 'getModelPrice'],
  json: {
    kind: 'list',
    fields: [
      'id',
      'object',
      'created',
      'owned_by',
      'modality',
      'context_length',
      'max_output_tokens',
      'input_modalities',
      'price',
    ],
  },
  failure: 'Could not list the models',
  run: async (context, { args, flags }) => {
    const client = context.client();
    const all = (await client.models.list()).response.data;
    const unknown = args.name.filter((name) => !all.some(({ id }) => id === name));
    if (unknown.length > 0) {
      throw new CliError(`There is no model ${unknown.join(', ')} for this key.`, {
        fix: 'millrace models',
        exitCode: exitCodes.notFound,
      });
    }
    const wanted = args.name.length === 0 ? all : all.filter(({ id }) => args.name.includes(id));
    const priced =
      flags.prices === false
        ? wanted.map((model) => ({ ...model, price: null }))
        : await withPrices(client, wanted);
    printList(context, priced, columns, {
      empty: `No models are available to this key${inMode(context)}.`,
    });
    if (priced.length > 0) noteTestMode(context);
  },
});

async function withPrices(client: Millrace, models: readonly Model[]): Promise<PricedModel[]> {
  const priced: PricedModel[] = [];
  for (let from = 0; from < models.length; from += PRICE_CONCURRENCY) {
    const some = models.slice(from, from + PRICE_CONCURRENCY);
    priced.push(
      ...(await Promise.all(
        some.map(async (model) => ({ ...model, price: await client.models.getPrice({ name: model.id }) })),
      )),
    );
  }
  return priced;
}

type Unit = keyof NonNullable<Price['live']>;

/** The price of one unit, with the price of live mode in test mode. */
const priceText = ({ price }: PricedModel, unit: Unit, times = 1n): string => {
  const own = price?.[unit];
  if (own == null) return '';
  const live = price?.live?.[unit];
  return withLive(usdText(BigInt(own) * times), live == null ? undefined : String(BigInt(live) * times));
};

const priceColumn = (name: string, unit: Unit, times?: bigint) =>
  ({ name, align: 'right', value: (model: PricedModel) => priceText(model, unit, times) }) as const;

const columns = [
  { name: 'model', value: (model: PricedModel) => model.id },
  { name: 'kind', value: (model: PricedModel) => model.modality },
  { name: 'context', align: 'right', value: (model: PricedModel) => model.context_length },
  priceColumn('prompt/M', 'prompt_nano_usd_per_million_tokens'),
  priceColumn('cached/M', 'cached_prompt_nano_usd_per_million_tokens'),
  priceColumn('answer/M', 'completion_nano_usd_per_million_tokens'),
  priceColumn('picture', 'image_nano_usd'),
  priceColumn('characters/k', 'character_nano_usd', 1000n),
  {
    name: 'longest answer',
    extra: true,
    align: 'right',
    value: (model: PricedModel) => model.max_output_tokens,
  },
  { name: 'reads', extra: true, value: ({ input_modalities }: PricedModel) => input_modalities.join(' ') },
  { name: 'by', extra: true, value: (model: PricedModel) => model.owned_by },
] as const;
