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

/** Operators: which models are offered, and where they run. */

const modelName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$/,
    'must be a model name such as meta-llama/Llama-3.1-8B-Instruct',
  );
const deploymentId = prefixedId('dep', 'a deployment');

/** Far beyond what any model has. */
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
  aliases: z.array(modelName).max(20).meta({ description: 'Other names that mean this model.' }),
  fallbacks: z.array(modelName).max(8).meta({
    description:
      'Models of the same modality to take instead, in this order, when no deployment of this one can. Their own fallbacks do not count.',
  }),
  visibleTo: z
    .array(organisationId)
    .min(1)
    .max(1000)
    .nullable()
    .meta({ description: 'The organisations for which it exists; null is everyone.' }),
  requestsPerMinute: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .meta({ description: 'Of each organisation, on top of its own limits.' }),
};

const modelMode = mode.meta({
  description: 'live: sold, and answered by a mock for test keys. test: for test keys alone.',
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
    .meta({ description: 'Where the engine listens, without /v1 or the path of an operation.' }),
  upstreamModel: z
    .string()
    .min(1)
    .max(200)
    .meta({ description: 'The name by which the engine knows the model.' }),
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

/** Goes in and never comes out. */
const engineApiKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,4096}$/, 'must be printable ASCII without spaces')
  .meta({ description: 'Sent to the engine as a bearer token. Kept sealed and never shown.' });

const modelParams = z.object({ name: modelName });
const deploymentParams = z.object({ deploymentId });

const modelOperations = {
  adminListModels: adminOperation('GET /v2/admin/models', {
    scope: 'admin:read',
    summary: 'List every model of the catalog, also those switched off',
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
    summary: 'Change a model, switch it off or on',
    description: 'A slash in the name is sent percent-encoded.',
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
          .meta({ description: 'The name by which the engine knows the model; null is its own name.' }),
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
    summary: 'Change a deployment, switch it off or on',
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
    summary: 'Forget a deployment; running streams finish',
    tags: ['inference'],
    params: deploymentParams,
    query: reasonQuery,
    response: noContent,
    notFoundReason: 'DEPLOYMENT_NOT_FOUND',
  }),
} as const;

export const adminInferenceOperations = { ...modelOperations, ...deploymentOperations } as const;
