import { z } from 'zod';
import {
  adminOperation,
  auditReason,
  mode,
  noContent,
  organisationId,
  pageOf,
  pageQuery,
  prefixedId,
  reasonQuery,
  timestamp,
} from '../../operation-builders.ts';

/** Operator operations: models and deployments. */

const modelName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$/,
    'must be a model name such as meta-llama/Llama-3.1-8B-Instruct',
  );
const deploymentId = prefixedId('dep', 'a deployment');

/** Above the limit of any model. */
const tokensMax = 1_000_000_000;

const modelFields = {
  modality: z.enum(['chat', 'completion', 'image', 'audio']),
  contextLength: z.int().min(1).max(tokensMax).nullable(),
  maxOutputTokens: z.int().min(1).max(tokensMax).nullable(),
  inputModalities: z
    .array(z.enum(['text', 'image', 'audio']))
    .min(1)
    .max(3),
  ownedBy: z.string().trim().min(1).max(100),
  enabled: z.boolean(),
  aliases: z.array(modelName).max(20).meta({ description: 'Other names of this model.' }),
  fallbacks: z.array(modelName).max(8).meta({
    description:
      'Models of the same modality to use, in this order, if no deployment of this model is available. Their own fallbacks are not used.',
  }),
  visibleTo: z
    .array(organisationId)
    .min(1)
    .max(1000)
    .nullable()
    .meta({ description: 'The organisations that can use it; null means all.' }),
  requestsPerMinute: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .meta({ description: 'Per organisation, in addition to its own limits.' }),
};

const modelMode = mode.meta({
  description: 'live: for sale; test keys get responses from a mock. test: for test keys only.',
});

const adminModel = z
  .object({
    name: modelName,
    mode: modelMode,
    ...modelFields,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'AdminModel' });

const deploymentFields = {
  engine: z.enum([
    'vllm',
    'sglang',
    'llama.cpp',
    'openai',
    'openai-images',
    'automatic1111',
    'comfyui',
    'speech',
    'mock',
  ]),
  address: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .meta({ description: 'The address of the engine, without /v1 or the path of an operation.' }),
  upstreamModel: z.string().min(1).max(200).meta({ description: 'The name of the model at the engine.' }),
  region: z.string().min(1).max(64),
  weight: z.int().min(0).max(1000),
  maxConcurrency: z.int().min(1).max(100_000).nullable(),
  enabled: z.boolean(),
};

const deployment = z
  .object({
    id: deploymentId,
    model: modelName,
    ...deploymentFields,
    hasApiKey: z.boolean(),
    health: z.enum(['unknown', 'healthy', 'degraded', 'down']),
    healthSince: timestamp,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Deployment' });

/** Write-only: stored sealed and never returned. */
const engineApiKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,4096}$/, 'must be printable ASCII without spaces')
  .meta({ description: 'Sent to the engine as a bearer token. Stored encrypted and never shown.' });

const modelParams = z.object({ name: modelName });
const deploymentParams = z.object({ deploymentId });

const modelOperations = {
  adminListModels: adminOperation('GET /v2/admin/models', {
    scope: 'admin:read',
    summary: 'List all models of the catalog, including disabled ones',
    tags: ['inference'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(adminModel) },
  }),
  adminCreateModel: adminOperation('POST /v2/admin/models', {
    scope: 'admin:write',
    summary: 'Add a model to the catalog',
    tags: ['inference'],
    body: z
      .object({
        name: modelName,
        mode: modelMode.default('live'),
        modality: modelFields.modality,
        contextLength: modelFields.contextLength.default(null),
        maxOutputTokens: modelFields.maxOutputTokens.default(null),
        inputModalities: modelFields.inputModalities.default(['text']),
        ownedBy: modelFields.ownedBy,
        enabled: modelFields.enabled.default(true),
        aliases: modelFields.aliases.default([]),
        fallbacks: modelFields.fallbacks.default([]),
        visibleTo: modelFields.visibleTo.default(null),
        requestsPerMinute: modelFields.requestsPerMinute.default(null),
        reason: auditReason.optional(),
      })
      .meta({ id: 'ModelCreate' }),
    response: { status: 201, schema: adminModel },
    idempotency: 'key',
  }),
  adminUpdateModel: adminOperation('PATCH /v2/admin/models/{name}', {
    scope: 'admin:write',
    summary: 'Change, disable or enable a model',
    description: 'Percent-encode a slash in the name.',
    tags: ['inference'],
    params: modelParams,
    body: z.object(modelFields).partial().extend({ reason: auditReason }).meta({ id: 'ModelUpdate' }),
    response: { status: 200, schema: adminModel },
    refuses: [409],
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
} as const;

const deploymentOperations = {
  adminListDeployments: adminOperation('GET /v2/admin/deployments', {
    scope: 'admin:read',
    summary: 'List deployments with their health',
    tags: ['inference'],
    query: pageQuery.extend({ model: modelName.optional() }),
    response: { status: 200, schema: pageOf(deployment) },
  }),
  adminCreateDeployment: adminOperation('POST /v2/admin/deployments', {
    scope: 'admin:write',
    summary: 'Register an engine that serves a model',
    tags: ['inference'],
    body: z
      .object({
        model: modelName,
        engine: deploymentFields.engine,
        address: deploymentFields.address,
        upstreamModel: deploymentFields.upstreamModel
          .nullable()
          .default(null)
          .meta({ description: 'The name of the model at the engine; null means the name of the model.' }),
        apiKey: engineApiKey.nullable().default(null),
        region: deploymentFields.region,
        weight: deploymentFields.weight.default(100),
        maxConcurrency: deploymentFields.maxConcurrency.default(null),
        enabled: deploymentFields.enabled.default(true),
        reason: auditReason.optional(),
      })
      .meta({ id: 'DeploymentCreate' }),
    response: { status: 201, schema: deployment },
    idempotency: 'key',
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
  adminUpdateDeployment: adminOperation('PATCH /v2/admin/deployments/{deploymentId}', {
    scope: 'admin:write',
    summary: 'Change, disable or enable a deployment',
    tags: ['inference'],
    params: deploymentParams,
    body: z
      .object({
        address: deploymentFields.address.optional(),
        upstreamModel: deploymentFields.upstreamModel.optional(),
        apiKey: engineApiKey.nullable().optional(),
        region: deploymentFields.region.optional(),
        weight: deploymentFields.weight.optional(),
        maxConcurrency: deploymentFields.maxConcurrency.optional(),
        enabled: z.boolean().optional(),
        reason: auditReason.optional(),
      })
      .meta({ id: 'DeploymentUpdate' }),
    response: { status: 200, schema: deployment },
    notFoundReason: 'DEPLOYMENT_NOT_FOUND',
  }),
  adminDeleteDeployment: adminOperation('DELETE /v2/admin/deployments/{deploymentId}', {
    scope: 'admin:write',
    summary: 'Delete a deployment; running streams finish',
    tags: ['inference'],
    params: deploymentParams,
    query: reasonQuery,
    response: noContent,
    notFoundReason: 'DEPLOYMENT_NOT_FOUND',
  }),
} as const;

export const adminInferenceOperations = { ...modelOperations, ...deploymentOperations } as const;
