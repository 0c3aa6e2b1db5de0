import type { ModelUnit, Price } from './price-form.ts';

export interface ModelPrices {
  readonly model: string;
  /** Null: list prices. */
  readonly organisationId: string | null;
  readonly byUnit: ReadonlyMap<ModelUnit, Price>;
}

/** Current prices of models, one entry per model and organisation. */
export function groupModelPrices(prices: readonly Price[]): readonly ModelPrices[] {
  const groups = new Map<
    string,
    { model: string; organisationId: string | null; byUnit: Map<ModelUnit, Price> }
  >();
  for (const price of prices) {
    const { subject, organisationId } = price;
    if (subject.kind !== 'model') continue;
    const key = `${subject.model} ${organisationId ?? ''}`;
    const group = groups.get(key) ?? { model: subject.model, organisationId, byUnit: new Map() };
    group.byUnit.set(subject.unit, price);
    groups.set(key, group);
  }
  return [...groups.values()].toSorted((a, b) => a.model.localeCompare(b.model));
}
