import { operationsOf } from '../contract.ts';
import type { Contract } from '../contract.ts';
import type { DocumentName, Operation } from '../operation.ts';
import { processOf } from '../pending.ts';
import { createComponents } from './components.ts';
import { headers, parameters } from './headers.ts';
import { errorResponses, operationObject, securityScheme, sessionScheme } from './operation.ts';
import type { OpenApiDocument, OperationObject, PathItem } from './types.ts';

export const documentNames = ['v1', 'v2', 'admin', 'supplier'] as const satisfies readonly DocumentName[];

const documentInfo: Readonly<Record<DocumentName, { title: string; version: string; description: string }>> =
  {
    v1: {
      title: 'Millrace v1',
      version: '1.0.0',
      description: 'Marketplace machines and instances, billing, and serverless inference.',
    },
    v2: {
      title: 'Millrace v2',
      version: '2.0.0',
      description: 'Rentals, storage volumes, usage, keys, events and everything around them.',
    },
    admin: {
      title: 'Millrace for operators',
      version: '2.0.0',
      description: 'Organisations, money, the fleet and the catalog, for operators of an installation.',
    },
    supplier: {
      title: 'Millrace for suppliers',
      version: '2.0.0',
      description: 'Machines on the marketplace and their earnings.',
    },
  };

/** Builds one OpenAPI document. Pure, so that the committed and the served documents are equal. */
export function buildDocument(
  contract: Contract,
  name: DocumentName,
  /** The address of the installation; by default, the address that the document was read from. */
  serverUrl = '/',
  /** The address of inference; by default, the same as that of all other operations. */
  inferenceUrl = serverUrl,
): OpenApiDocument {
  const operations = operationsOf(contract).filter(({ document }) => document === name);
  const components = createComponents();
  const paths = pathsOf(operations, (operation) => ({
    ...operationObject(operation, contract, components),
    ...(processOf(operation) === 'gateway' && inferenceUrl !== serverUrl
      ? { servers: [{ url: inferenceUrl, description: 'The gateways of this installation.' }] }
      : {}),
  }));
  const responses = errorResponses(operations, contract, components);
  const document = {
    openapi: '3.1.0',
    info: { ...documentInfo[name], license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: serverUrl, description: 'This installation.' }],
    tags: [...new Set(operations.flatMap(({ tags }) => tags))].toSorted().map((tag) => ({ name: tag })),
    paths,
    components: {
      schemas: components.schemas(),
      responses,
      headers: usedComponents('headers', headers, [paths, responses]),
      parameters: usedComponents('parameters', parameters, [paths]),
      securitySchemes: {
        [securityScheme]: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: `Authorization: Bearer mr_live_…`.',
        },
        ...(operations.some(({ auth }) => auth === 'person')
          ? {
              [sessionScheme]: {
                type: 'http',
                scheme: 'bearer',
                description:
                  'A signed-in user: the cookie of the console, or the token that `millrace login` stores, as `Authorization: Bearer …`.',
              },
            }
          : {}),
      },
    },
  } as const satisfies OpenApiDocument;
  return components.settle(document);
}

function pathsOf(
  operations: readonly Operation[],
  build: (operation: Operation) => OperationObject,
): OpenApiDocument['paths'] {
  const paths = new Map<string, PathItem>();
  for (const operation of operations) {
    const method = operation.method.toLowerCase();
    const item = paths.get(operation.path) ?? {};
    if (Object.hasOwn(item, method)) {
      throw new Error(`Two operations have the route ${operation.method} ${operation.path}.`);
    }
    paths.set(operation.path, { ...item, [method]: build(operation) });
  }
  return Object.fromEntries(paths);
}

function usedComponents<Component>(
  kind: string,
  all: Readonly<Record<string, Component>>,
  users: readonly unknown[],
): Readonly<Record<string, Component>> {
  const text = JSON.stringify(users);
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)),
  );
}
