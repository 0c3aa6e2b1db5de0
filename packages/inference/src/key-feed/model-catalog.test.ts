import { keyFeedKeys, type ModelEntry } from '@millrace/core/inference';
import { Fault } from '@millrace/platform/fault';
import { describe, expect, it } from 'vitest';
import { createModelCatalog, mayUseModel, priceOf } from './model-catalog.ts';
import { frozenPrice, modelOf } from './key-feed.fixture.ts';

const keyOf = (model: ModelEntry): string => `model.${model.name}`;

function catalogOf(...models: readonly ModelEntry[]) {
  const catalog = createModelCatalog();
  for (const model of models) catalog.put(keyOf(model), model);
  return catalog;
}

describe('model catalog', () => {
  it('finds a model by its name and by each alias', () => {
    const model = modelOf({ name: 'maker/large', aliases: ['large', 'maker/large-latest'] });
    const catalog = catalogOf(model);
    for (const name of ['maker/large', 'large', 'maker/large-latest']) {
      expect(catalog.find(name, 'org_a', 'live')).toBe(model);
    }
    expect(catalog.find('maker/lar', 'org_a', 'live')).toBeNull();
  });

  it('prefers a name over an alias of another model, in any order of arrival', () => {
    const own = modelOf({ name: 'large' });
    const other = modelOf({ name: 'other', aliases: ['large'] });
    expect(catalogOf(own, other).find('large', 'org_a', 'live')).toBe(own);
    expect(catalogOf(other, own).find('large', 'org_a', 'live')).toBe(own);
  });

  it('removes all names with a model, and old aliases with a change', () => {
    const catalog = catalogOf(modelOf({ name: 'm', aliases: ['old'] }));
    const changed = modelOf({ name: 'm', aliases: ['new'] });
    catalog.put(keyOf(changed), changed);
    expect([catalog.find('old', 'org_a', 'live'), catalog.find('new', 'org_a', 'live')]).toEqual([
      null,
      changed,
    ]);
    catalog.put(keyOf(changed), null);
    expect([catalog.find('new', 'org_a', 'live'), catalog.size()]).toEqual([null, 0]);
  });

  it('hides a model from organisations without access, in both modes', () => {
    const catalog = catalogOf(modelOf({ name: 'secret', visibleTo: ['org_a'] }), modelOf({ name: 'open' }));
    for (const mode of ['live', 'test'] as const) {
      expect(catalog.find('secret', 'org_b', mode)).toBeNull();
      expect(catalog.list('org_b', mode).map(({ name }) => name)).toEqual(['open']);
      expect(catalog.list('org_a', mode).map(({ name }) => name)).toEqual(['open', 'secret']);
    }
  });

  it('serves test keys only by the mock, for free, and with a stable object', () => {
    const catalog = catalogOf(modelOf({ name: 'm', fallbacks: ['n'] }));
    const testModel = catalog.find('m', 'org_a', 'test') ?? expect.fail('not found');
    expect(testModel.deployments.map(({ engine }) => engine)).toEqual(['mock']);
    expect([testModel.mode, testModel.fallbacks]).toEqual(['test', []]);
    expect(priceOf(testModel, 'org_a', 0)).toMatchObject({ promptNanoUsdPerMillion: '0', priceIds: [] });
    expect(catalog.find('m', 'org_a', 'test')).toBe(testModel);
  });

  it('hides test models from live keys', () => {
    const catalog = catalogOf(modelOf({ name: 'toy', mode: 'test' }));
    expect([catalog.find('toy', 'org_a', 'live'), catalog.list('org_a', 'live')]).toEqual([null, []]);
    expect(catalog.find('toy', 'org_a', 'test')).not.toBeNull();
  });
});

describe('priceOf', () => {
  const cheap = frozenPrice({ promptNanoUsdPerMillion: '1' });
  const expensive = frozenPrice({ promptNanoUsdPerMillion: '2' });
  const model = modelOf({
    prices: [
      { fromMs: null, untilMs: 1_000, price: expensive },
      { fromMs: 1_000, untilMs: 2_000, price: cheap },
    ],
    contractPrices: { org_a: [{ fromMs: null, untilMs: null, price: frozenPrice({ imageNanoUsd: '7' }) }] },
  });

  it.each([
    [0, expensive],
    [999, expensive],
    [1_000, cheap],
    [1_999, cheap],
    [2_000, null],
  ])('applies a price from its start until before its end: at %d', (atMs, expected) => {
    expect(priceOf(model, 'org_b', atMs)).toBe(expected);
  });

  it('prefers a contract price over the list price, only for its organisation', () => {
    expect(priceOf(model, 'org_a', 5_000)?.imageNanoUsd).toBe('7');
  });
});

describe('contract prices in parts', () => {
  const contract = frozenPrice({ promptNanoUsdPerMillion: '7' });
  const model = modelOf({ contractParts: 2 });
  const [first = '', second = ''] = [0, 1].map((part) => keyFeedKeys.contractPart(model.name, 2, part));
  const partOf = (orgId: string) => ({
    version: 1 as const,
    contractPrices: { [orgId]: [{ fromMs: null, untilMs: null, price: contract }] },
  });
  const priced = (
    catalog: ReturnType<typeof createModelCatalog>,
    orgId: string,
    mode: 'live' | 'test' = 'live',
  ) =>
    priceOf(catalog.find(model.name, orgId, mode) ?? expect.fail('not found'), orgId, 0)
      ?.promptNanoUsdPerMillion;

  it.each([
    ['before the model', true],
    ['after the model', false],
  ])('apply once all parts have arrived, %s', (_, isBefore) => {
    const catalog = createModelCatalog();
    const putModel = () => catalog.put(keyFeedKeys.model(model.name), model);
    if (isBefore) catalog.putPart(first, partOf('org_a'));
    putModel();
    if (!isBefore) catalog.putPart(first, partOf('org_a'));
    for (const orgId of ['org_a', 'org_b', 'org_c']) expect(() => priced(catalog, orgId)).toThrow(Fault);
    catalog.putPart(second, partOf('org_b'));
    const list = model.prices[0]?.price.promptNanoUsdPerMillion;
    expect(['org_a', 'org_b', 'org_c'].map((orgId) => priced(catalog, orgId))).toEqual(['7', '7', list]);
  });

  it('refuse the model again when a part is removed, except for test keys, which are free', () => {
    const catalog = createModelCatalog();
    catalog.putPart(first, partOf('org_a'));
    catalog.putPart(second, partOf('org_b'));
    catalog.put(keyFeedKeys.model(model.name), model);
    catalog.putPart(second, null);
    expect(() => priced(catalog, 'org_a')).toThrow(Fault);
    expect(priced(catalog, 'org_a', 'test')).toBe('0');
  });

  it('ignore parts of another division of the model', () => {
    const catalog = createModelCatalog();
    for (let part = 0; part < 4; part += 1)
      catalog.putPart(keyFeedKeys.contractPart(model.name, 4, part), partOf('org_a'));
    catalog.put(keyFeedKeys.model(model.name), model);
    expect(() => priced(catalog, 'org_a')).toThrow(Fault);
  });
});

describe('mayUseModel', () => {
  it.each([
    [null, true],
    [['maker/*'], true],
    [['maker/large'], true],
    [['other', 'maker/l*'], true],
    [['*'], true],
    [['maker'], false],
    [['large'], false],
    [[], false],
  ])('%j', (models, allowed) => {
    expect(mayUseModel({ models }, { name: 'maker/large' })).toBe(allowed);
  });
});
