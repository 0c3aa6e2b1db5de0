import { keyFeedKeys } from '@millrace/core/inference';
import type { ContractPartEntry, DeploymentEntry, KeyEntry, ModelEntry } from '@millrace/core/inference';
import type { FrozenModelPrice } from '@millrace/core/prices';
import { Fault } from '@millrace/platform/fault';

/** The models in memory and their visibility for each organisation. Pure. */

type Mode = KeyEntry['mode'];

interface CatalogModel {
  readonly stored: ModelEntry;
  /** With contract prices, if all parts are known. */
  readonly entry: ModelEntry;
  readonly visibleTo: ReadonlySet<string> | null;
  /** The model for test keys. Created once, so that the object is stable. */
  readonly testModel: ModelEntry;
}

export interface ModelCatalog {
  /** Null removes the model. */
  put(key: string, model: ModelEntry | null): void;
  /** Null removes the part. */
  putPart(key: string, part: ContractPartEntry | null): void;
  clear(): void;
  size(): number;
  find(name: string, orgId: string, mode: Mode): ModelEntry | null;
  list(orgId: string, mode: Mode): readonly ModelEntry[];
}

export function createModelCatalog(): ModelCatalog {
  const held = new Map<string, CatalogModel>();
  const entries = new Map<string, ContractPartEntry>();
  let byName = new Map<string, CatalogModel>();

  /** A name always wins over an alias of another model. */
  function index(): void {
    byName = new Map();
    for (const model of held.values()) for (const alias of model.entry.aliases) byName.set(alias, model);
    for (const model of held.values()) byName.set(model.entry.name, model);
  }

  return {
    put(key, model) {
      if (model === null) held.delete(key);
      else held.set(key, toCatalogModel(model, entries));
      index();
    },
    putPart(key, part) {
      if (part === null) entries.delete(key);
      else entries.set(key, part);
      const modelKey = keyFeedKeys.model(keyFeedKeys.nameOfModel(key));
      const model = held.get(modelKey)?.stored;
      if (model?.contractParts === undefined) return;
      held.set(modelKey, toCatalogModel(model, entries));
      index();
    },
    clear() {
      held.clear();
      entries.clear();
      byName.clear();
    },
    size: () => held.size,
    find: (name, orgId, mode) => visibleModel(byName.get(name), orgId, mode),
    list: (orgId, mode) =>
      [...held.values()]
        .flatMap((model) => visibleModel(model, orgId, mode) ?? [])
        .toSorted((left, right) => (left.name < right.name ? -1 : 1)),
  };
}

function toCatalogModel(stored: ModelEntry, entries: ReadonlyMap<string, ContractPartEntry>): CatalogModel {
  return {
    stored,
    entry: withContractPrices(stored, entries),
    visibleTo: stored.visibleTo === null ? null : new Set(stored.visibleTo),
    testModel: toTestModel(stored),
  };
}

/** While a part is missing, the entry keeps `contractParts`, and `priceOf` throws. */
function withContractPrices(stored: ModelEntry, entries: ReadonlyMap<string, ContractPartEntry>): ModelEntry {
  const { contractParts: count, ...rest } = stored;
  if (count === undefined) return stored;
  const found = Array.from({ length: count }, (_, part) =>
    entries.get(keyFeedKeys.contractPart(stored.name, count, part)),
  ).filter((part) => part !== undefined);
  if (found.length < count) return stored;
  const contracts = found.flatMap(({ contractPrices }) => Object.entries(contractPrices));
  return { ...rest, contractPrices: Object.fromEntries(contracts) };
}

function visibleModel(model: CatalogModel | undefined, orgId: string, mode: Mode): ModelEntry | null {
  if (model === undefined || (model.visibleTo !== null && !model.visibleTo.has(orgId))) return null;
  if (mode === 'test') return model.testModel;
  return model.entry.mode === 'live' ? model.entry : null;
}

const mockDeployment: DeploymentEntry = {
  id: 'mock',
  engine: 'mock',
  address: '',
  upstreamModel: 'mock',
  apiKey: null,
  region: 'mock-region',
  weight: 1,
  maxConcurrency: null,
};

/** Test keys get the mock: free, deterministic, and without cost for anybody. */
function toTestModel(entry: ModelEntry): ModelEntry {
  const free: FrozenModelPrice = {
    version: 1,
    model: entry.name,
    promptNanoUsdPerMillion: '0',
    cachedPromptNanoUsdPerMillion: '0',
    completionNanoUsdPerMillion: '0',
    imageNanoUsd: '0',
    characterNanoUsd: '0',
    priceIds: [],
  };
  const { contractParts: _, ...rest } = entry;
  return {
    ...rest,
    mode: 'test',
    fallbacks: [],
    prices: [{ fromMs: null, untilMs: null, price: free }],
    contractPrices: {},
    deployments: [mockDeployment],
  };
}

/** Null: the model has no price. Throws while parts are missing, because the organisation might have a contract. */
export function priceOf(model: ModelEntry, orgId: string, atMs: number): FrozenModelPrice | null {
  if (model.contractParts !== undefined) {
    throw new Fault('SERVICE_UNAVAILABLE', {
      internal: `parts of the contract prices of ${model.name} are missing in the key feed`,
      retryAfterSeconds: 1,
    });
  }
  const prices = model.contractPrices[orgId] ?? model.prices;
  const counting = prices.find(
    ({ fromMs, untilMs }) => (fromMs === null || fromMs <= atMs) && (untilMs === null || atMs < untilMs),
  );
  return counting?.price ?? null;
}

/** Limits of a key apply to the model's name, also if the request used an alias. */
export function mayUseModel(key: Pick<KeyEntry, 'models'>, model: Pick<ModelEntry, 'name'>): boolean {
  return (
    key.models === null ||
    key.models.some((pattern) =>
      pattern.endsWith('*') ? model.name.startsWith(pattern.slice(0, -1)) : model.name === pattern,
    )
  );
}

/** Whether the model has a deployment with weight, up or not. */
export function hasActiveDeployment({ deployments }: Pick<ModelEntry, 'deployments'>): boolean {
  return deployments.some(({ weight }) => weight > 0);
}
