import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type DeploymentId } from '@millrace/platform/ids';
import { sql, type Selectable } from 'kysely';
import type { EngineKind } from '../key-feed.ts';
import type { Deployment, DeploymentSettings, InputModality, Model, ModelSettings } from './catalog.ts';

/** All SQL about models, their names and deployments. They belong to the operator: no tenant owns a row. */

interface PageRequest<Position> {
  readonly limit: number;
  readonly after: Position | null;
}

function modelsQuery(reader: Reader) {
  return reader.kysely
    .selectFrom('inference_models as model')
    .selectAll('model')
    .select(
      sql<string[]>`array(
        select names.name from inference_model_names names
         where names.model = model.name and names.name <> model.name order by names.name
      )`.as('aliases'),
    );
}

type ModelRow = Awaited<ReturnType<ReturnType<typeof modelsQuery>['execute']>>[number];

function toModel(row: ModelRow): Model {
  return {
    name: row.name,
    mode: row.mode,
    modality: row.modality,
    // A table constraint allows only these.
    inputModalities: row.input_modalities as InputModality[],
    contextLength: row.context_length,
    maxOutputTokens: row.max_output_tokens,
    ownedBy: row.owned_by,
    enabled: row.enabled,
    aliases: row.aliases,
    fallbacks: row.fallbacks,
    visibleTo: row.visible_to?.map((id) => fromUuid('org', id)) ?? null,
    requestsPerMinute: row.requests_per_minute,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function settingsRow(settings: Omit<ModelSettings, 'aliases'>) {
  return {
    modality: settings.modality,
    input_modalities: [...settings.inputModalities],
    context_length: settings.contextLength,
    max_output_tokens: settings.maxOutputTokens,
    owned_by: settings.ownedBy,
    enabled: settings.enabled,
    visible_to: settings.visibleTo?.map(toUuid) ?? null,
    fallbacks: [...settings.fallbacks],
    requests_per_minute: settings.requestsPerMinute,
  };
}

export async function findModel(reader: Reader, name: string): Promise<Model | null> {
  const row = await modelsQuery(reader).where('model.name', '=', name).executeTakeFirst();
  return row === undefined ? null : toModel(row);
}

export async function findModels(reader: Reader, names: readonly string[]): Promise<readonly Model[]> {
  if (names.length === 0) return [];
  const rows = await modelsQuery(reader)
    .where('model.name', 'in', [...names])
    .execute();
  return rows.map(toModel);
}

/** Serializes changes of one model. */
export async function lockModel(tx: Tx, name: string): Promise<Model | null> {
  await sql`select 1 from inference_models where name = ${name} for update`.execute(tx.kysely);
  return findModel(tx, name);
}

/** By name; one more than the limit, if it exists. */
export async function listModels(reader: Reader, page: PageRequest<string>): Promise<readonly Model[]> {
  let query = modelsQuery(reader)
    .orderBy('model.name')
    .limit(page.limit + 1);
  if (page.after !== null) query = query.where('model.name', '>', page.after);
  const rows = await query.execute();
  return rows.map(toModel);
}

export async function listPublicModels(reader: Reader): Promise<readonly Model[]> {
  const rows = await modelsQuery(reader)
    .where('model.mode', '=', 'live')
    .where('model.enabled', '=', true)
    .where('model.visible_to', 'is', null)
    .orderBy('model.name')
    .execute();
  return rows.map(toModel);
}

/** False if a model with this name exists. */
export async function insertModel(
  tx: Tx,
  name: string,
  mode: Model['mode'],
  settings: ModelSettings,
): Promise<boolean> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .insertInto('inference_models')
    .values({ name, mode, ...settingsRow(settings), created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .returning('name')
    .executeTakeFirst();
  return row !== undefined;
}

export async function updateModelRow(tx: Tx, name: string, settings: ModelSettings): Promise<void> {
  await tx.kysely
    .updateTable('inference_models')
    .set({ ...settingsRow(settings), updated_at: tx.clock.now() })
    .where('name', '=', name)
    .execute();
}

/** Sets the model's name and aliases. Returns the names that belong to another model. */
export async function setModelNames(tx: Tx, model: string, aliases: readonly string[]): Promise<string[]> {
  const wanted = [model, ...aliases];
  await tx.kysely
    .deleteFrom('inference_model_names')
    .where('model', '=', model)
    .where('name', 'not in', wanted)
    .execute();
  await tx.kysely
    .insertInto('inference_model_names')
    // Sorted, so that two concurrent changes cannot deadlock.
    .values(wanted.toSorted().map((name) => ({ name, model })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const taken = await tx.kysely
    .selectFrom('inference_model_names')
    .select('name')
    .where('name', 'in', wanted)
    .where('model', '<>', model)
    .orderBy('name')
    .execute();
  return taken.map(({ name }) => name);
}

function toDeployment(row: Selectable<Tables['inference_deployments']>): Deployment {
  return {
    id: fromUuid('dep', row.id),
    model: row.model,
    // A table constraint allows only these.
    engine: row.engine as EngineKind,
    address: row.address,
    upstreamModel: row.upstream_model,
    sealedApiKey: row.sealed_api_key,
    region: row.region,
    weight: row.weight,
    maxConcurrency: row.max_concurrency,
    enabled: row.enabled,
    health: row.health,
    healthSince: row.health_since,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function deploymentRow(settings: DeploymentSettings & Pick<Deployment, 'sealedApiKey'>) {
  return {
    address: settings.address,
    upstream_model: settings.upstreamModel,
    sealed_api_key: settings.sealedApiKey,
    region: settings.region,
    weight: settings.weight,
    max_concurrency: settings.maxConcurrency,
    enabled: settings.enabled,
  };
}

/** By id; one more than the limit, if it exists. */
export async function listDeployments(
  reader: Reader,
  filter: { readonly model: string | null },
  page: PageRequest<DeploymentId>,
): Promise<readonly Deployment[]> {
  let query = reader.kysely
    .selectFrom('inference_deployments')
    .selectAll()
    .orderBy('id')
    .limit(page.limit + 1);
  if (filter.model !== null) query = query.where('model', '=', filter.model);
  if (page.after !== null) query = query.where('id', '>', toUuid(page.after));
  const rows = await query.execute();
  return rows.map(toDeployment);
}

/** The model of each enabled engine that does not respond; bounded, because it is for people. */
export async function listModelsOfDownEngines(reader: Reader): Promise<readonly string[]> {
  const rows = await reader.kysely
    .selectFrom('inference_deployments')
    .select('model')
    .where('enabled', '=', true)
    .where('health', '=', 'down')
    .orderBy('model')
    .limit(1_000)
    .execute();
  return rows.map(({ model }) => model);
}

/** Whether a model that everyone can use has engines, and all of them are down. */
export async function hasModelWithoutEngine(reader: Reader): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('inference_deployments as engine')
    .innerJoin('inference_models as model', 'model.name', 'engine.model')
    .select('model.name')
    .where('engine.enabled', '=', true)
    .where('model.mode', '=', 'live')
    .where('model.enabled', '=', true)
    .where('model.visible_to', 'is', null)
    .groupBy('model.name')
    .having(sql<boolean>`bool_and(engine.health = 'down')`)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function findEnabledDeployments(
  reader: Reader,
  models: readonly string[],
): Promise<readonly Deployment[]> {
  const rows = await reader.kysely
    .selectFrom('inference_deployments')
    .selectAll()
    .where('model', 'in', [...models])
    .where('enabled', '=', true)
    .orderBy('id')
    .execute();
  return rows.map(toDeployment);
}

export async function lockDeployment(tx: Tx, id: DeploymentId): Promise<Deployment | null> {
  const row = await tx.kysely
    .selectFrom('inference_deployments')
    .selectAll()
    .where('id', '=', toUuid(id))
    .forUpdate()
    .executeTakeFirst();
  return row === undefined ? null : toDeployment(row);
}

export async function insertDeployment(
  tx: Tx,
  id: DeploymentId,
  fields: DeploymentSettings & Pick<Deployment, 'model' | 'engine' | 'sealedApiKey'>,
): Promise<Deployment> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .insertInto('inference_deployments')
    .values({
      id: toUuid(id),
      model: fields.model,
      engine: fields.engine,
      ...deploymentRow(fields),
      health_since: now,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toDeployment(row);
}

export async function updateDeploymentRow(
  tx: Tx,
  id: DeploymentId,
  fields: DeploymentSettings & Pick<Deployment, 'sealedApiKey'>,
): Promise<Deployment> {
  const row = await tx.kysely
    .updateTable('inference_deployments')
    .set({ ...deploymentRow(fields), updated_at: tx.clock.now() })
    .where('id', '=', toUuid(id))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toDeployment(row);
}

export async function deleteDeploymentRow(tx: Tx, id: DeploymentId): Promise<void> {
  await tx.kysely.deleteFrom('inference_deployments').where('id', '=', toUuid(id)).execute();
}

export async function listSealedKeys(
  reader: Reader,
): Promise<readonly { readonly id: DeploymentId; readonly sealedApiKey: string }[]> {
  const rows = await reader.kysely
    .selectFrom('inference_deployments')
    .select(['id', 'sealed_api_key'])
    .where('sealed_api_key', 'is not', null)
    .execute();
  return rows.map((row) => ({ id: fromUuid('dep', row.id), sealedApiKey: row.sealed_api_key ?? '' }));
}

/** Only if it has not changed meanwhile. */
export async function replaceSealedKey(tx: Tx, id: DeploymentId, from: string, to: string): Promise<void> {
  await tx.kysely
    .updateTable('inference_deployments')
    .set({ sealed_api_key: to })
    .where('id', '=', toUuid(id))
    .where('sealed_api_key', '=', from)
    .execute();
}

/** False if another worker has recorded a different health meanwhile. */
export async function setHealth(
  tx: Tx,
  id: DeploymentId,
  from: Deployment['health'],
  to: Deployment['health'],
): Promise<boolean> {
  const row = await tx.kysely
    .updateTable('inference_deployments')
    .set({ health: to, health_since: tx.clock.now() })
    .where('id', '=', toUuid(id))
    .where('health', '=', from)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
