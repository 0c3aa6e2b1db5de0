import type { Item } from '@millrace/sdk';
import { modelHealth } from '../common/model-health.ts';
import type { Price } from '../prices/price-form.ts';

type Deployment = Item<'adminListDeployments'>;

type Model = Item<'adminListModels'>;

/** Text models need a price; images and speech have a default one. */
export const needsPrice = ({ modality }: Pick<Model, 'modality'>): boolean =>
  modality === 'chat' || modality === 'completion';

/** Whether tenants can call the model, or the next step until they can. */
export function modelAvailability(
  model: Pick<Model, 'enabled' | 'mode' | 'modality'>,
  deployments: Parameters<typeof modelHealth>[0],
  prices: readonly unknown[],
): { readonly tone: 'good' | 'warn' | 'bad' | 'plain'; readonly words: string } {
  if (!model.enabled) return { tone: 'plain', words: 'retired' };
  if (model.mode === 'test') return { tone: 'good', words: 'with test keys' };
  const steps = [
    ...(deployments.length === 0 ? ['register an engine'] : []),
    ...(prices.length === 0 && needsPrice(model) ? ['set a price'] : []),
  ];
  if (steps.length > 0) return { tone: 'warn', words: `no: ${steps.join(' and ')}` };
  const { tone, words } = modelHealth(deployments);
  return tone === 'bad' ? { tone, words: `no: ${words}` } : { tone: 'good', words: 'yes' };
}

/** Share of requests while all deployments are healthy: `25 %`. */
export function requestShareText(
  deployment: Pick<Deployment, 'enabled' | 'weight'>,
  all: readonly Pick<Deployment, 'enabled' | 'weight'>[],
  percentOf: (value: bigint, most: bigint) => number,
): string {
  if (!deployment.enabled) return 'off';
  const sum = all.reduce((total, { enabled, weight }) => total + (enabled ? weight : 0), 0);
  return sum === 0 ? '0 %' : `about ${String(percentOf(BigInt(deployment.weight), BigInt(sum)))} %`;
}

export function modelPrices(prices: readonly Price[], model: string): readonly Price[] {
  return prices.filter(
    ({ subject, organisationId }) =>
      organisationId === null && subject.kind === 'model' && subject.model === model,
  );
}

/** Splits names at commas or line breaks. */
export function parseNames(text: string): string[] {
  return text
    .split(/[\s,]+/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

export function parseOptionalInteger(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}
