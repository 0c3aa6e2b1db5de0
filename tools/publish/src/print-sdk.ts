import type { Contract, Operation } from '@millrace/contract';
import { streamMethods, namespaces } from '@millrace/sdk';
import {
  callableOperations,
  entryOf,
  listShapeOf,
  reasonStatusesOf,
  requiredFieldsOf,
} from './operation-table.ts';

/** Prints the generated files of the SDK. */

const head = (from: string): string =>
  `// Written by npm run sdk from ${from}. Do not edit; a test compares it.\n\n`;

export type Uncallable = Readonly<Record<string, string>>;

export function printVersion(version: string): string {
  return `${head('the package.json of the repository')}export const version = '${version}';
`;
}

export function printOperations(contract: Contract, uncallable: Uncallable): string {
  const lines = callableOperations(contract, uncallable).map(
    (operation) => `  ${operation.id}: ${literal(entryOf(operation))},`,
  );
  return `${head('the contract')}import type { OperationEntry } from './operation-entry.ts';
import type { OperationId } from './operation-types.ts';

/** The operations that a client calls. */
export type CallableId = Exclude<OperationId, ${union(Object.keys(uncallable))}>;

export const operations: Readonly<Record<CallableId, OperationEntry>> = {
${lines.join('\n')}
};
`;
}

export function printReasons(): string {
  const lines = Object.entries(reasonStatusesOf()).map(([reason, status]) => `  ${reason}: ${status},`);
  return `${head('the contract')}import type { Reason } from './operation-types.ts';

/** The default status of each reason. */
export const reasonStatuses: Readonly<Record<Reason, number>> = {
${lines.join('\n')}
};
`;
}

interface NamespaceTree {
  readonly [word: string]: string | NamespaceTree;
}

/** Methods that are written by hand, by the noun that has them. */
const helpers: Readonly<Record<string, string>> = {
  rentals: 'RentalWaiters',
  volumes: 'VolumeWaiters',
  'marketplace.instances': 'InstanceWaiters',
};

function streamsOf(noun: string): Readonly<Record<string, string>> {
  const all: Readonly<Record<string, Readonly<Record<string, string>>>> = streamMethods;
  return all[noun] ?? {};
}

export function printResources(contract: Contract): string {
  const operations: Readonly<Record<string, Operation>> = contract.operations;
  const known = (id: string): Operation => {
    const operation = operations[id];
    if (operation === undefined) throw new Error(`namespaces.ts names ${id}, which is not an operation`);
    return operation;
  };
  const interfaces: string[] = [];
  const print = (words: NamespaceTree, path: readonly string[]): string => {
    const name = `${path.map(capital).join('')}Resource`;
    const streams = path.length === 1 ? streamsOf(path[0] ?? '') : {};
    const members = [
      ...Object.entries(words).map(([word, value]) =>
        typeof value === 'string'
          ? methodOf(word, known(value))
          : `  readonly ${word}: ${print(value, [...path, word])};`,
      ),
      ...Object.entries(streams).map(([word, id]) => streamMethodOf(word, known(id))),
    ];
    const helper = helpers[path.join('.')];
    const base = helper === undefined ? '' : ` extends ${helper}`;
    interfaces.push(`export interface ${name}${base} {\n${members.join('\n')}\n}\n`);
    return name;
  };
  const nouns = Object.entries(namespaces).map(
    ([noun, words]) => `  readonly ${noun}: ${print(words, [noun])};`,
  );
  return `${head('the contract and namespaces.ts')}import type { ApiPromise } from './api-promise.ts';
import type { RequestOptions } from './options.ts';
import type { PagePromise } from './page.ts';
import type { StreamPromise } from './stream.ts';
import type { Output, Input, Item, StreamItem } from './types.ts';
import type { InstanceWaiters, RentalWaiters, VolumeWaiters } from './wait.ts';

${interfaces.join('\n')}
/** The resources of a client. */
export interface Resources {
${nouns.join('\n')}
}
`;
}

function methodOf(word: string, operation: Operation): string {
  const { id } = operation;
  const optional = requiredFieldsOf(operation).length === 0 ? '?' : '';
  const options = 'options?: RequestOptions';
  const response =
    listShapeOf(operation) === null
      ? `ApiPromise<Output<'${id}'>>`
      : `PagePromise<Item<'${id}'>, Output<'${id}'>>`;
  const doc = docOf(operation);
  if (operation.response.sse === true && operation.body !== undefined) {
    return [
      doc,
      `  ${word}(input: Input<'${id}'> & { readonly stream: true }, ${options}): StreamPromise<StreamItem<'${id}'>>;`,
      doc,
      `  ${word}(input: Input<'${id}'> & { readonly stream?: false | null | undefined }, ${options}): ${response};`,
    ].join('\n');
  }
  return `${doc}\n  ${word}(input${optional}: Input<'${id}'>, ${options}): ${response};`;
}

function streamMethodOf(word: string, operation: Operation): string {
  const { id } = operation;
  const optional = requiredFieldsOf(operation).length === 0 ? '?' : '';
  return `  /** ${operation.summary}, and follow new events. */
  ${word}(input${optional}: Input<'${id}'>, options?: RequestOptions): StreamPromise<StreamItem<'${id}'>>;`;
}

function docOf({ summary, description }: Operation): string {
  if (description === undefined) return `  /** ${summary}. */`;
  return `  /**\n   * ${summary}.\n   *\n   * ${description.replaceAll('*/', '* /')}\n   */`;
}

function capital(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

function union(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' | ');
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, field]) => `${name}: ${literal(field)}`);
    return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
  }
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}
