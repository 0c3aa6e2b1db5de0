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

/** The security scheme of an API key. Every operation that takes one names it. */
export const securityScheme = 'Authorization';

/** The security scheme of a person who is signed in, for operations that take no key. */
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
  // A body left out counts as an empty object, so it is required only where an empty object would not do.
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
    description: sse ? 'The answer, or a stream of events.' : 'The answer.',
    headers: responseHeaders(operation),
    ...(content === undefined ? {} : { content }),
  };
  const unchanged = {
    description: 'What If-None-Match names is still so.',
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

/** The v2 errors are named as their status, exactly as the interface names them. */
export function errorResponseName(family: ErrorFamily, status: ErrorStatus): string {
  const code = errorCodes[status];
  return family === 'v2' ? code : `${family}.${code}`;
}

/** The error responses that the operations of a document refer to. */
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

/** What an operation declares, and 410 as soon as the day of its end is known. */
function errorStatusesOf(operation: Operation, contract: Contract): readonly ErrorStatus[] {
  const retires = noticeOf(operation, contract)?.sunsetAt !== undefined;
  return (retires ? [...operation.errors, 410] : operation.errors).map(asErrorStatus);
}

function asErrorStatus(status: number): ErrorStatus {
  if (!Object.hasOwn(errorCodes, status)) throw new Error(`${status} is not a status the registry knows.`);
  return status as ErrorStatus;
}

const errorDescriptions: Readonly<Record<ErrorStatus, string>> = {
  400: 'Invalid input data',
  401: 'Authorization not provided',
  402: 'Not enough money',
  403: 'Insufficient access',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'The body did not arrive in time',
  409: 'In conflict with how things stand',
  410: 'Retired; the Link header names the successor',
  413: 'The body is too large',
  415: 'The media type, charset or encoding of the body is not supported',
  422: 'Understood, but it cannot be done',
  429: 'Too many requests',
  500: 'Internal server error',
  502: 'The engine behind failed',
  503: 'Not available just now',
  504: 'The engine behind did not answer in time',
};
