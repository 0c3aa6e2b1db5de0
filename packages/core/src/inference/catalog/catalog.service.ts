import type { Db, Tx } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { DeploymentId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { Sealer } from '@millrace/platform/secrets';
import { appendAuditEntry, findUnknownOrganisations, type AuditContext } from '../../identity/index.ts';
import { baseAddress, usesPlaintext, sealContextOf } from './catalog.ts';
import type { Deployment, DeploymentSettings, Model, ModelSettings } from './catalog.ts';
import {
  deleteDeploymentRow,
  findModel,
  findModels,
  insertDeployment,
  insertModel,
  listSealedKeys,
  lockDeployment,
  lockModel,
  replaceSealedKey,
  setModelNames,
  updateDeploymentRow,
  updateModelRow,
} from './catalog.store.ts';

/** Operator changes of the catalog. Gateways receive them through the key feed, which follows the tables. */

export interface NewModel extends ModelSettings {
  readonly name: string;
  readonly mode: Model['mode'];
}

export async function createModel(tx: Tx, cause: AuditContext, request: NewModel): Promise<Model> {
  const { name, mode, ...settings } = request;
  await validateModelSettings(tx, name, settings);
  if (!(await insertModel(tx, name, mode, settings))) throw nameTakenFault([name]);
  await replaceModelNames(tx, name, settings.aliases);
  const model = await requireModel(tx, name);
  await appendAuditEntry(tx, null, cause, {
    action: 'model.created',
    resource: { kind: 'model', id: name },
    after: { mode, ...settings },
  });
  return model;
}

export async function updateModel(
  tx: Tx,
  cause: AuditContext,
  name: string,
  change: Partial<ModelSettings> & { readonly reason: string },
): Promise<Model> {
  const { reason, ...fields } = change;
  const before = await lockModel(tx, name);
  if (before === null) throw new Fault('MODEL_NOT_FOUND');
  const settings = { ...settingsOf(before), ...fields };
  await validateModelSettings(tx, name, settings);
  await updateModelRow(tx, name, settings);
  if (fields.aliases !== undefined) await replaceModelNames(tx, name, fields.aliases);
  const after = await requireModel(tx, name);
  await appendAuditEntry(tx, null, cause, {
    action: 'model.changed',
    resource: { kind: 'model', id: name },
    before: { ...settingsOf(before) },
    after: { ...settingsOf(after) },
    reason,
  });
  return after;
}

function settingsOf(model: Model): ModelSettings {
  const { modality, inputModalities, contextLength, maxOutputTokens, ownedBy, enabled } = model;
  const { aliases, fallbacks, visibleTo, requestsPerMinute } = model;
  const offer = { modality, inputModalities, contextLength, maxOutputTokens, ownedBy, enabled };
  return { ...offer, aliases, fallbacks, visibleTo, requestsPerMinute };
}

async function requireModel(tx: Tx, name: string): Promise<Model> {
  const model = await findModel(tx, name);
  if (model === null) throw new Fault('MODEL_NOT_FOUND');
  return model;
}

async function replaceModelNames(tx: Tx, name: string, aliases: readonly string[]): Promise<void> {
  const others = await setModelNames(tx, name, aliases);
  if (others.length > 0) throw nameTakenFault(others);
}

function nameTakenFault(names: readonly string[]): Fault {
  return new Fault('MODEL_NAME_TAKEN', {
    message: `Another model has this name already: ${names.join(', ')}.`,
  });
}

/** Checks that the schemas of the fields cannot express. */
async function validateModelSettings(tx: Tx, name: string, settings: ModelSettings): Promise<void> {
  const { aliases, fallbacks, visibleTo, modality } = settings;
  if (new Set(aliases).size !== aliases.length) throw invalidField('aliases', 'must not contain duplicates');
  if (aliases.includes(name)) throw invalidField('aliases', "must not contain the model's own name");
  if (new Set(fallbacks).size !== fallbacks.length)
    throw invalidField('fallbacks', 'must not contain duplicates');
  const found = new Map((await findModels(tx, fallbacks)).map((model) => [model.name, model]));
  fallbacks.forEach((fallback, index) => {
    const other = found.get(fallback);
    if (other === undefined || fallback === name) {
      throw invalidField(['fallbacks', index], 'must be the name of another model in the catalog');
    }
    if (other.modality !== modality) {
      throw invalidField(['fallbacks', index], `must have the same modality, ${modality}`);
    }
  });
  const [outsider] = await findUnknownOrganisations(tx, visibleTo ?? []);
  if (outsider !== undefined) throw invalidField('visibleTo', `contains ${outsider}, which does not exist`);
}

export interface NewDeployment extends Omit<DeploymentSettings, 'upstreamModel'> {
  readonly model: string;
  readonly engine: Deployment['engine'];
  /** Null: the engine uses the same name for the model. */
  readonly upstreamModel: string | null;
  readonly apiKey: string | null;
}

export interface DeploymentDeps {
  readonly sealer: Sealer;
  /** Whether engines on other machines need no TLS. */
  readonly allowPlaintext: boolean;
}

export async function createDeployment(
  tx: Tx,
  cause: AuditContext,
  { sealer, allowPlaintext }: DeploymentDeps,
  request: NewDeployment,
): Promise<Deployment> {
  const { apiKey, ...fields } = request;
  if ((await findModel(tx, request.model)) === null) throw new Fault('MODEL_NOT_FOUND');
  const id = tx.ids.next('dep');
  const deployment = await insertDeployment(tx, id, {
    ...fields,
    address: requireAddress(request, allowPlaintext),
    upstreamModel: request.upstreamModel ?? request.model,
    sealedApiKey: sealKey(sealer, id, apiKey),
  });
  await appendAuditEntry(tx, null, cause, {
    action: 'deployment.created',
    resource: { kind: 'deployment', id },
    after: auditFieldsOf(deployment),
  });
  return deployment;
}

export interface DeploymentChange extends Partial<DeploymentSettings> {
  /** Null removes the key. */
  readonly apiKey?: string | null;
}

export async function updateDeployment(
  tx: Tx,
  cause: AuditContext,
  { sealer, allowPlaintext }: DeploymentDeps,
  id: DeploymentId,
  change: DeploymentChange,
): Promise<Deployment> {
  const { apiKey, ...fields } = change;
  const before = await lockDeployment(tx, id);
  if (before === null) throw new Fault('DEPLOYMENT_NOT_FOUND');
  const { address } = fields;
  const after = await updateDeploymentRow(tx, id, {
    ...before,
    ...fields,
    ...(address === undefined ? {} : { address: requireAddress({ ...before, address }, allowPlaintext) }),
    ...(apiKey === undefined ? {} : { sealedApiKey: sealKey(sealer, id, apiKey) }),
  });
  await appendAuditEntry(tx, null, cause, {
    action: 'deployment.changed',
    resource: { kind: 'deployment', id },
    before: auditFieldsOf(before),
    after: { ...auditFieldsOf(after), ...(apiKey === undefined ? {} : { apiKeyReplaced: true }) },
  });
  return after;
}

/** Gateways stop sending new requests within a second; running requests finish. */
export async function deleteDeployment(tx: Tx, cause: AuditContext, id: DeploymentId): Promise<void> {
  const before = await lockDeployment(tx, id);
  if (before === null) throw new Fault('DEPLOYMENT_NOT_FOUND');
  await deleteDeploymentRow(tx, id);
  await appendAuditEntry(tx, null, cause, {
    action: 'deployment.deleted',
    resource: { kind: 'deployment', id },
    before: auditFieldsOf(before),
  });
}

/** Seals engine keys again that were sealed with an older key. */
export async function resealDeployments(db: Db, sealer: Sealer, log: Pick<Logger, 'error'>): Promise<void> {
  for (const { id, sealedApiKey } of await listSealedKeys(db)) {
    const resealed = resealKey(sealer, id, sealedApiKey, log);
    if (resealed === null) continue;
    await db.transaction({ name: 'reseal engine key', isolation: 'read committed' }, (tx) =>
      replaceSealedKey(tx, id, sealedApiKey, resealed),
    );
  }
}

/** Null if the key is current or cannot be opened. */
function resealKey(sealer: Sealer, id: DeploymentId, old: string, log: Pick<Logger, 'error'>): string | null {
  try {
    return sealer.needsRotation(old) ? sealer.reseal(old, sealContextOf(id)) : null;
  } catch (error) {
    log.error(
      { err: error, deployment: id },
      'cannot open the sealed engine key of a deployment; enter the key again',
    );
    return null;
  }
}

function requireAddress(place: Pick<Deployment, 'engine' | 'address'>, allowPlaintext: boolean): string {
  const address = baseAddress(place.address);
  if (address === null) throw invalidField('address', 'must not contain a user, password, query or fragment');
  if (!allowPlaintext && usesPlaintext(place)) {
    throw invalidField(
      'address',
      'must begin with https://, because prompts and the key of the engine leave the machine; if no other machine can read that network, set MILLRACE_ALLOW_PLAINTEXT_ENGINES=true in apis, workers and gateways',
    );
  }
  return address;
}

function sealKey(sealer: Sealer, id: DeploymentId, apiKey: string | null): string | null {
  return apiKey === null ? null : sealer.seal(apiKey, sealContextOf(id));
}

/** For the audit log: without the key. */
function auditFieldsOf(deployment: Deployment): Readonly<Record<string, unknown>> {
  const { model, engine, address, upstreamModel, region, weight, maxConcurrency, enabled } = deployment;
  const hasApiKey = deployment.sealedApiKey !== null;
  return { model, engine, address, upstreamModel, region, weight, maxConcurrency, enabled, hasApiKey };
}
