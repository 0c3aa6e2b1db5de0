import { errorRegistry, operationsOf, processOf } from '@millrace/contract';
import type { Contract, Operation } from '@millrace/contract';
import type { ListShape, OperationEntry } from '@millrace/sdk';
import type { z } from 'zod';

/** Derives the SDK's table of operations from the contract. */

export function callableOperations(
  contract: Contract,
  uncallable: Readonly<Record<string, string>>,
): readonly Operation[] {
  return operationsOf(contract).filter(({ id }) => !Object.hasOwn(uncallable, id));
}

export function entryOf(operation: Operation): OperationEntry {
  const { method, response } = operation;
  const input = operation.body === undefined ? operation.query && 'query' : 'body';
  const query = operation.body === undefined ? [] : Object.keys(operation.query?.shape ?? {});
  const list = listShapeOf(operation);
  const responseKind = responseKindOf(operation);
  return {
    method,
    path: stablePathOf(operation),
    ...(input === undefined ? {} : { input }),
    ...(query.length === 0 ? {} : { query }),
    retry: retryOf(operation),
    ...(processOf(operation) === 'gateway' ? { gateway: true } : {}),
    ...(response.sse === true ? { sse: method === 'GET' ? 'accept' : 'body' } : {}),
    ...(list === null ? {} : { list }),
    ...(responseKind === null ? {} : { responseKind }),
  };
}

/** If an operation has an alpha path and a stable alias, clients use the stable one. */
function stablePathOf({ path, aliases = [] }: Operation): `/${string}` {
  if (!path.includes('/alpha/')) return path;
  return aliases.find((alias) => !alias.includes('/alpha/')) ?? path;
}

function retryOf(operation: Operation): OperationEntry['retry'] {
  if (operation.idempotency === 'key') return 'key';
  return operation.method === 'POST' && operation.errorFamily === 'inference' ? 'refusal' : 'safe';
}

function responseKindOf({ response }: Operation): NonNullable<OperationEntry['responseKind']> | null {
  if (response.status === 204) return 'nothing';
  switch (kindOf(response.schema)) {
    case 'custom':
      return 'bytes';
    case 'string':
      return 'text';
    default:
      return null;
  }
}

/** Whether an operation is a list, and how it paginates. */
export function listShapeOf(operation: Operation): ListShape | null {
  const kind = kindOf(operation.response.schema);
  const linked = Object.hasOwn(operation.response.headers ?? {}, 'Link');
  const byLink: ListShape = linked ? { next: 'link', sends: 'cursor' } : {};
  if (kind === 'array') return byLink;
  if (kind !== 'object') return null;
  const shape = (operation.response.schema as z.ZodObject).shape;
  if ('items' in shape && 'nextAfter' in shape) return { items: 'items', next: 'nextCursor', sends: 'after' };
  if ('nextCursor' in shape) return { items: 'items', next: 'nextCursor', sends: 'cursor' };
  if (!/(?:list|history)/i.test(operation.id)) return null;
  const arrays = Object.keys(shape).filter((name) => kindOf(shape[name] as z.ZodType) === 'array');
  const [items] = arrays;
  if (items === undefined || arrays.length > 1) return null;
  return 'next_cursor' in shape ? { items, next: 'next_cursor', sends: 'cursor' } : { items, ...byLink };
}

function kindOf(schema: z.ZodType): string {
  return schema.def.type;
}

/** Required fields of path, query and body. */
export function requiredFieldsOf(operation: Operation): readonly string[] {
  const schemas = [operation.params, operation.query, operation.body];
  return schemas.flatMap((part) => (part === undefined ? [] : requiredOf(part)));
}

function requiredOf(schema: z.ZodType): readonly string[] {
  // A union always needs some value.
  if (kindOf(schema) !== 'object') return ['(a choice)'];
  const { shape } = schema as z.ZodObject;
  return Object.keys(shape).filter((name) => (shape[name] as z.ZodType)._zod.optin === undefined);
}

/** All fields of path, query and body. Equal names in two of them would be ambiguous in one input. */
export function inputFieldsOf(operation: Operation): readonly string[] {
  const schemas = [operation.params, operation.query, operation.body];
  return schemas.flatMap((part) => (part === undefined ? [] : fieldsOf(part)));
}

function fieldsOf(schema: z.ZodType): readonly string[] {
  switch (kindOf(schema)) {
    case 'object':
      return Object.keys((schema as z.ZodObject).shape);
    case 'union':
      return [...new Set((schema as z.ZodUnion<readonly z.ZodType[]>).def.options.flatMap(fieldsOf))];
    default:
      throw new Error(`an input must be an object or a union of objects, not ${kindOf(schema)}`);
  }
}

/** The default status of each reason; a single operation may use another. */
export function reasonStatusesOf(): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(errorRegistry).map(([reason, { status }]) => [reason, status]));
}
