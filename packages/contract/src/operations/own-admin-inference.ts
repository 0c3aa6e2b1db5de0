import { z } from 'zod';
import { admin, auditReason, noContent, page, pageQuery, prefixedId, timestamp } from './own-kit.ts';

/** Operators: which models are offered, and where they run. */

const modelName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._/:-]{0,199}$/,
    'must be a model name such as meta-llama/Llama-3.1-8B-Instruct',
  );
const deploymentId = prefixedId('dep', 'a deployment');

const modelFields = {
  modality: z.enum(['chat', 'completion', 'image', 'audio']),
  contextLength: z.int().positive().nullable(),
  maxOutputTokens: z.int().positive().nullable(),
  inputModalities: z
    .array(z.enum(['text', 'image', 'audio']))
    .min(1)
    .max(3),
  ownedBy: z.string().trim().min(1).max(100),
  enabled: z.boolean(),
};

const adminModel = z
  .object({ name: modelName, ...modelFields, createdAt: timestamp, updatedAt: timestamp })
  .meta({ id: 'AdminModel' });

const deploymentFields = {
  engine: z.enum(['vllm', 'sglang', 'llama.cpp', 'image', 'speech', 'mock']),
  address: z.url().max(2048),
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
    health: z.enum(['unknown', 'healthy', 'degraded', 'down']),
    healthSince: timestamp,
    createdAt: timestamp,
  })
  .meta({ id: 'Deployment' });

const modelParams = z.object({ name: modelName });
const deploymentParams = z.object({ deploymentId });

const modelOperations = {
  adminListModels: admin({
    id: 'adminListModels',
    method: 'GET',
    path: '/v2/admin/models',
    scope: 'admin:read',
    summary: 'List every model of the catalog, also those switched off',
    tags: ['inference'],
    query: pageQuery,
    response: { status: 200, schema: page(adminModel) },
    idempotency: 'none',
  }),
  adminCreateModel: admin({
    id: 'adminCreateModel',
    method: 'POST',
    path: '/v2/admin/models',
    scope: 'admin:write',
    summary: 'Add a model to the catalog',
    tags: ['inference'],
    body: z
      .object({
        name: modelName,
        modality: modelFields.modality,
        contextLength: modelFields.contextLength.default(null),
        maxOutputTokens: modelFields.maxOutputTokens.default(null),
        inputModalities: modelFields.inputModalities.default(['text']),
        ownedBy: modelFields.ownedBy,
        enabled: modelFields.enabled.default(true),
      })
      .meta({ id: 'ModelCreate' }),
    response: { status: 201, schema: adminModel },
    idempotency: 'key',
  }),
  adminUpdateModel: admin({
    id: 'adminUpdateModel',
    method: 'PATCH',
    path: '/v2/admin/models/{name}',
    scope: 'admin:write',
    summary: 'Change a model, switch it off or on',
    description: 'A slash in the name is sent percent-encoded.',
    tags: ['inference'],
    params: modelParams,
    body: z.object(modelFields).partial().extend({ reason: auditReason }).meta({ id: 'ModelUpdate' }),
    response: { status: 200, schema: adminModel },
    refuses: [404],
    idempotency: 'none',
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
} as const;

const deploymentOperations = {
  adminListDeployments: admin({
    id: 'adminListDeployments',
    method: 'GET',
    path: '/v2/admin/deployments',
    scope: 'admin:read',
    summary: 'List deployments with their health',
    tags: ['inference'],
    query: pageQuery.extend({ model: modelName.optional() }),
    response: { status: 200, schema: page(deployment) },
    idempotency: 'none',
  }),
  adminCreateDeployment: admin({
    id: 'adminCreateDeployment',
    method: 'POST',
    path: '/v2/admin/deployments',
    scope: 'admin:write',
    summary: 'Register an engine that serves a model',
    tags: ['inference'],
    body: z
      .object({
        model: modelName,
        engine: deploymentFields.engine,
        address: deploymentFields.address,
        region: deploymentFields.region,
        weight: deploymentFields.weight.default(100),
        maxConcurrency: deploymentFields.maxConcurrency.default(null),
        enabled: deploymentFields.enabled.default(true),
      })
      .meta({ id: 'DeploymentCreate' }),
    response: { status: 201, schema: deployment },
    refuses: [404],
    idempotency: 'key',
    notFoundReason: 'MODEL_NOT_FOUND',
  }),
  adminUpdateDeployment: admin({
    id: 'adminUpdateDeployment',
    method: 'PATCH',
    path: '/v2/admin/deployments/{deploymentId}',
    scope: 'admin:write',
    summary: 'Change the weight of a deployment, switch it off or on',
    tags: ['inference'],
    params: deploymentParams,
    body: z
      .object({
        weight: deploymentFields.weight.optional(),
        maxConcurrency: deploymentFields.maxConcurrency.optional(),
        enabled: z.boolean().optional(),
      })
      .meta({ id: 'DeploymentUpdate' }),
    response: { status: 200, schema: deployment },
    refuses: [404],
    idempotency: 'none',
    notFoundReason: 'DEPLOYMENT_NOT_FOUND',
  }),
  adminDeleteDeployment: admin({
    id: 'adminDeleteDeployment',
    method: 'DELETE',
    path: '/v2/admin/deployments/{deploymentId}',
    scope: 'admin:write',
    summary: 'Forget a deployment; running streams finish',
    tags: ['inference'],
    params: deploymentParams,
    response: noContent,
    refuses: [404],
    idempotency: 'none',
    notFoundReason: 'DEPLOYMENT_NOT_FOUND',
  }),
} as const;

export const adminInferenceOperations = { ...modelOperations, ...deploymentOperations } as const;
