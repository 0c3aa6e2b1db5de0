import type { z } from 'zod';
import { v2ErrorBodies } from '../error-bodies.ts';
import type { Contract } from '../contract.ts';
import { operationsOf } from '../contract.ts';
import type { Operation } from '../operation.ts';
import { marketplaceMachine } from '../records/marketplace.ts';
import { attachedStorage, rentalMeta, term } from '../records/rental.ts';
import { storageVolume } from '../records/volume.ts';
import { parseSpec } from './spec-text.ts';
import type { SpecText, TextOperation } from './spec-text.ts';
import { factsOfJsonSchema, toJsonSchema } from './json-schema.ts';
import type { JsonSchemaNode } from './json-schema.ts';
import { limitProblems } from './limits.ts';
import { acceptedDifferences, unspecifiedSubjects } from './accepted-differences.ts';
import { differences, factsOfShape } from './shape.ts';
import type { Facts } from './shape.ts';
import { statementProblems } from './statements.ts';

/** Compares the contract with docs/interface.md and reports every difference in one line. */

/** Contract components that the text names. */
const named: ReadonlyMap<string, string> = new Map([
  ['ProviderData', 'Provider data'],
  ['Term', 'Term'],
  ['RentalMeta', 'Rental meta'],
  ['AttachedStorage', 'Attached storage'],
  ['RentalRecord', 'Rental record'],
  ['ActiveBareMetalRental', 'Active bare-metal rental record'],
  ['StorageVolume', 'Storage volume record'],
  ['MarketplaceMachine', 'Marketplace machine'],
]);

export interface Subject {
  readonly schema: z.ZodType;
  readonly io: 'input' | 'output';
}

/** The schemas that the text specifies, by their names in the text. */
export function subjectsOf(contract: Contract): ReadonlyMap<string, Subject> {
  const { schemas } = contract;
  const records: [string, z.ZodType][] = [
    ['Rental record', schemas.rentalRecord],
    ['Active bare-metal rental record', schemas.activeBareMetalRental],
    ['Rental meta', rentalMeta],
    ['Attached storage', attachedStorage],
    ['Term', term],
    ['Provider data', schemas.providerData],
    ['Storage volume record', storageVolume],
    ['Marketplace machine', marketplaceMachine],
  ];
  const subjects = new Map<string, Subject>(
    records.map(([name, schema]) => [name, { schema, io: 'output' }]),
  );
  for (const operation of baselineOnly(contract)) {
    const name = `${operation.method} ${operation.path}`;
    if (operation.body !== undefined)
      subjects.set(`${name} request`, { schema: operation.body, io: 'input' });
    const { schema, event } = operation.response;
    subjects.set(`${name} response`, { schema, io: 'output' });
    if (event !== undefined) subjects.set(`${name} event`, { schema: event, io: 'output' });
  }
  return subjects;
}

export function baselineOnly(contract: Contract): readonly Operation[] {
  return operationsOf(contract).filter((operation) => operation.source === 'interface');
}

/** The JSON Schema of each subject, as plain data so that a test can remove parts of it. */
export function jsonSchemasOf(contract: Contract): Map<string, JsonSchemaNode> {
  const schemas = new Map<string, JsonSchemaNode>();
  for (const [name, { schema, io }] of subjectsOf(contract)) {
    const json = toJsonSchema(schema, io);
    // Resolve a named record at the top level, where a reference to itself would compare nothing.
    const itself = [...named.values()].includes(name) && json.$ref !== undefined;
    const definition = itself ? json.$defs?.[json.$ref?.replace('#/$defs/', '') ?? ''] : undefined;
    schemas.set(name, definition === undefined ? json : { ...definition, $defs: json.$defs ?? {} });
  }
  return schemas;
}

export function factsOfSubject(schema: JsonSchemaNode): Facts {
  return factsOfJsonSchema(schema, named);
}

export function contractFacts(schemas: ReadonlyMap<string, JsonSchemaNode>): Map<string, Facts> {
  return new Map([...schemas].map(([name, schema]) => [name, factsOfSubject(schema)]));
}

function isUnder(key: string, prefix: string): boolean {
  return key.startsWith(prefix) && (prefix.endsWith('.') || /^[ .[<]/.test(key.slice(prefix.length)));
}

/** Bounds at least this large are accepted where the text has none. */
const minOpenBound = 100;

/** Removes the accepted differences from both sides and reports entries without an effect. */
function applyAcceptedDifferences(name: string, text: Facts, contract: Facts): string[] {
  const problems: string[] = [];
  for (const prefix of acceptedDifferences[name]?.additions ?? []) {
    const keys = [...contract.keys()].filter((key) => isUnder(key, prefix));
    if (keys.length === 0)
      problems.push(`${prefix}: accepted as an addition, but the contract has no such field`);
    for (const key of keys) {
      if (text.has(key)) problems.push(`${key}: accepted as an addition, but the text has it`);
      contract.delete(key);
    }
  }
  for (const [key, [stated, held]] of Object.entries(acceptedDifferences[name]?.facts ?? {})) {
    const [theirs, own] = [text.get(key) ?? null, contract.get(key)];
    if (theirs !== stated) problems.push(`${key}: accepted with text ${stated}, but the text has ${theirs}`);
    if (own !== held)
      problems.push(`${key}: accepted with contract ${held}, but the contract has ${own ?? 'nothing'}`);
    contract.delete(key);
    text.delete(key);
  }
  // Every size has a bound, a large one where the text has none (docs/decisions/145-untrusted-input.md).
  for (const [key, bound] of contract) {
    if (/ max(?:Length|Items)$/.test(key) && !text.has(key) && Number(bound) >= minOpenBound)
      contract.delete(key);
  }
  for (const key of acceptedDifferences[name]?.open ?? []) {
    if (!text.delete(key)) problems.push(`${key}: accepted as open, but the text does not have it`);
  }
  return problems;
}

/** Where the text names only a field, the contract may say more. */
function dropUnstated(text: Facts, contract: Facts): void {
  for (const [key, value] of [...text]) {
    if (!key.endsWith(' type')) continue;
    const path = key.slice(0, -'type'.length);
    if (!text.has(`${path}required`)) contract.delete(`${path}required`);
    if (value !== 'untyped') continue;
    text.delete(key);
    for (const other of [...contract.keys()]) {
      if (other.startsWith(path) && other !== `${path}required`) contract.delete(other);
    }
  }
}

/** The differences between text and contract for one record, request or response. */
export function subjectDisagreements(name: string, stated: Facts, held: Facts): string[] {
  const [text, contract] = [new Map(stated), new Map(held)];
  dropUnstated(text, contract);
  const unsettled = applyAcceptedDifferences(name, text, contract);
  return [...unsettled, ...differences(text, contract)].map((problem) => `${name}: ${problem}`);
}

function subjectProblems(text: SpecText, facts: ReadonlyMap<string, Facts>): string[] {
  const problems: string[] = [];
  for (const [name, shape] of text.subjects) {
    const held = facts.get(name);
    if (held === undefined) problems.push(`${name}: the contract has no such subject`);
    else problems.push(...subjectDisagreements(name, factsOfShape(shape, ''), held));
  }
  for (const name of facts.keys()) {
    if (text.subjects.has(name) === unspecifiedSubjects.includes(name))
      problems.push(`${name}: the text must specify it`);
  }
  for (const name of Object.keys(acceptedDifferences)) {
    if (!text.subjects.has(name)) problems.push(`${name}: accepted, but the text does not have it`);
  }
  return problems;
}

/** Statuses that every baseline operation declares beyond those of the text. */
const additionalStatuses = new Set([429, 503]);

function operationProblems(
  stated: TextOperation,
  method: string,
  operations: readonly Operation[],
): string[] {
  const found = operations.find((operation) => operation.method === method && operation.path === stated.path);
  const name = `${method} ${stated.path}`;
  if (found === undefined) return [`${name}: not in the contract`];
  const problems: string[] = [];
  if ((found.auth === 'key') !== stated.bearer)
    problems.push(`${name}: text bearer ${stated.bearer}, contract ${found.auth}`);
  const { status } = found.response;
  if (status !== (stated.status ?? 200))
    problems.push(`${name}: text answers ${stated.status}, contract ${status}`);
  if (found.errorFamily === 'v2') {
    const errors = stated.errors ?? [400, 401, 403, 500];
    const own = found.errors.filter((status) => !additionalStatuses.has(status));
    if (errors.join() !== own.join())
      problems.push(`${name}: text errors ${errors.join()}, contract ${own.join()}`);
    if (own.length + additionalStatuses.size !== found.errors.length)
      problems.push(`${name}: does not declare 429 and 503`);
  }
  const onDemand = found.path.startsWith('/v2/alpha/on-demand/');
  const stable = found.path.replace('/v2/alpha/', '/v2/');
  if (onDemand && !found.aliases?.some((alias) => alias === stable)) problems.push(`${name}: no stable path`);
  return problems;
}

function operationSetProblems(text: SpecText, operations: readonly Operation[]): string[] {
  const problems: string[] = [];
  const stated = new Set<string>();
  for (const operation of text.operations) {
    for (const method of operation.methods) {
      stated.add(`${method} ${operation.path}`);
      problems.push(...operationProblems(operation, method, operations));
    }
  }
  for (const { method, path } of operations) {
    if (!stated.has(`${method} ${path}`)) problems.push(`${method} ${path}: not in the text`);
  }
  return problems;
}

function errorNameProblems(text: SpecText): string[] {
  const problems: string[] = [];
  for (const [status, name] of text.errorNames) {
    if (!Object.hasOwn(v2ErrorBodies, name))
      problems.push(`${status}: the contract has no error schema ${name}`);
    if (!text.statuses.has(status)) problems.push(`${status}: named under Errors, listed by no operation`);
  }
  for (const status of text.statuses) {
    if (!text.errorNames.has(status))
      problems.push(`${status}: listed by an operation, not named under Errors`);
  }
  return problems;
}

function disagreements(
  text: SpecText,
  operations: readonly Operation[],
  facts: ReadonlyMap<string, Facts>,
): string[] {
  return [
    ...subjectProblems(text, facts),
    ...operationSetProblems(text, operations),
    ...errorNameProblems(text),
    ...limitProblems(text, facts),
    ...statementProblems(text, operations),
  ];
}

/** The same, from the text. A text that cannot be parsed is a difference. */
export function conformanceProblems(
  interfaceText: string,
  operations: readonly Operation[],
  facts: ReadonlyMap<string, Facts>,
): string[] {
  try {
    return disagreements(parseSpec(interfaceText), operations, facts);
  } catch (error) {
    return [`The text cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}
