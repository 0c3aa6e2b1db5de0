import type { z } from 'zod';
import type { Contract } from '../contract.ts';
import type { Deprecation } from '../deprecations.ts';
import { errorBodyFor, streamErrorFor } from '../error-bodies.ts';
import { errorCodes } from '../errors.ts';
import type { ErrorStatus } from '../errors.ts';
import type { ErrorFamily, Operation } from '../operation.ts';
import type { Components } from './components.ts';
import { responseHeaders, errorHeaders } from './headers.ts';
import type { Content, JsonSchema, OperationObject, Parameter, Reference, Response } from './types.ts';

/** The security scheme for API keys. */
export const securityScheme = 'Authorization';

/** The security scheme for signed-in users, on operations without an API key. */
export const sessionScheme = 'Session';

export function operationObject(
  operation: Operation,
  contract: Contract,
  components: Components,
): OperationObject {
  const { id, summary, description, tags, scope, aliases } = operation;
  const parameters = parametersOf(operation, components);
  const notice = noticeOf(operation, contract);
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    tags,
    ...(notice === undefined ? {} : { deprecated: true }),
    security: securityOf(operation),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(operation, components),
    responses: responsesOf(operation, contract, components),
    ...(scope === null ? {} : { 'x-scope': scope }),
    ...(aliases === undefined ? {} : { 'x-aliases': aliases }),
  };
}

function securityOf({ auth }: Operation): OperationObject['security'] {
  switch (auth) {
    case 'key':
      return [{ [securityScheme]: [] }];
    case 'person':
      return [{ [sessionScheme]: [] }];
    case 'none':
      return [];
  }
}

function parametersOf(operation: Operation, components: Components): readonly (Parameter | Reference)[] {
  const found: (Parameter | Reference)[] = [
    ...fieldsAsParameters(operation.params, 'path', components),
    ...fieldsAsParameters(operation.query, 'query', components),
  ];
  if (operation.idempotency === 'key') found.push({ $ref: '#/components/parameters/Idempotency-Key' });
  if (operation.method === 'GET' && operation.response.sse) {
    found.push({ $ref: '#/components/parameters/Last-Event-ID' });
  }
  if (operation.response.revalidates) found.push({ $ref: '#/components/parameters/If-None-Match' });
  return found;
}

function fieldsAsParameters(
  schema: z.ZodObject | undefined,
  place: 'path' | 'query',
  components: Components,
): readonly Parameter[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = components.use(schema, 'input') as {
    properties?: Readonly<Record<string, JsonSchema>>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(typeof description === 'string' ? { description } : {}),
    schema: property,
  }));
}

function requestBodyOf({ body }: Operation, components: Components): Pick<OperationObject, 'requestBody'> {
  if (body === undefined) return {};
  // A missing body counts as an empty object, so it is required only if an empty object is invalid.
  const required = !body.safeParse({}).success;
  return {
    requestBody: { required, content: { 'application/json': { schema: components.use(body, 'input') } } },
  };
}

function responsesOf(
  operation: Operation,
  contract: Contract,
  components: Components,
): OperationObject['responses'] {
  const { status, sse } = operation.response;
  const content = contentOf(operation, components);
  const response: Response = {
    description: sse ? 'The response, or a stream of events.' : 'The response.',
    headers: responseHeaders(operation),
    ...(content === undefined ? {} : { content }),
  };
  const unchanged = {
    description: 'The response that If-None-Match names is still current.',
    headers: responseHeaders(operation),
  };
  const errors = errorStatusesOf(operation, contract).map((error) => [
    String(error),
    { $ref: `#/components/responses/${errorResponseName(operation.errorFamily, error)}` },
  ]);
  return {
    [String(status)]: response,
    ...(operation.response.revalidates ? { '304': unchanged } : {}),
    ...(Object.fromEntries(errors) as Record<string, Reference>),
  };
}

function contentOf({ response, errorFamily }: Operation, components: Components): Content | undefined {
  const { status, schema, contentType, sse, event } = response;
  if (status === 204) return undefined;
  if (contentType !== undefined) return { [contentType]: { schema: { type: 'string', format: 'binary' } } };
  const json = { 'application/json': { schema: components.use(schema, 'output') } };
  if (!sse) return json;
  const stream = {
    type: 'string',
    description: 'Server-sent events; the `data` of each is JSON.',
    contentMediaType: 'text/event-stream',
    ...(event === undefined ? {} : { contentSchema: eventSchema(event, errorFamily, components) }),
  };
  return { ...json, 'text/event-stream': { schema: stream } };
}

function eventSchema(event: z.ZodType, family: ErrorFamily, components: Components): JsonSchema {
  const failure = streamErrorFor(family);
  const ordinary = components.use(event, 'output');
  return failure === null ? ordinary : { anyOf: [ordinary, components.use(failure, 'output')] };
}

/** v2 errors are named by their status, as docs/interface.md requires. */
export function errorResponseName(family: ErrorFamily, status: ErrorStatus): string {
  const code = errorCodes[status];
  return family === 'v2' ? code : `${family}.${code}`;
}

export function errorResponses(
  operations: readonly Operation[],
  contract: Contract,
  components: Components,
): Readonly<Record<string, Response>> {
  const found = new Map<string, Response>();
  for (const operation of operations) {
    const { errorFamily } = operation;
    for (const status of errorStatusesOf(operation, contract)) {
      const name = errorResponseName(errorFamily, status);
      if (found.has(name)) continue;
      const schema = components.use(errorBodyFor(errorFamily, status), 'output');
      found.set(name, {
        description: errorDescriptions[status],
        headers: errorHeaders(status),
        content: { 'application/json': { schema } },
      });
    }
  }
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function noticeOf({ id }: Operation, contract: Contract): Deprecation | undefined {
  return Object.entries(contract.deprecations).find(([deprecated]) => deprecated === id)?.[1];
}

/** The declared statuses, and 410 when the operation has a sunset date. */
function errorStatusesOf(operation: Operation, contract: Contract): readonly ErrorStatus[] {
  const retires = noticeOf(operation, contract)?.sunsetAt !== undefined;
  return (retires ? [...operation.errors, 410] : operation.errors).map(asErrorStatus);
}

function asErrorStatus(status: number): ErrorStatus {
  if (!Object.hasOwn(errorCodes, status)) throw new Error(`${status} is not in the error registry.`);
  return status as ErrorStatus;
}

const errorDescriptions: Readonly<Record<ErrorStatus, string>> = {
  400: 'Invalid input data',
  401: 'Authorization not provided',
  402: 'Insufficient balance or budget',
  403: 'Insufficient access',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'The request body did not arrive in time',
  409: 'Conflicts with the current state',
  410: 'Retired; the Link header names the successor',
  413: 'The request body is too large',
  415: 'The media type, charset or encoding of the body is not supported',
  422: 'The request is well-formed but cannot be processed',
  429: 'Too many requests',
  500: 'Internal server error',
  502: 'The inference engine failed',
  503: 'Temporarily unavailable',
  504: 'The inference engine did not respond in time',
};
