import { processOf, type Operation, type ServingProcess } from '@millrace/contract';
import { Fault, type FaultTarget } from '../fault/index.ts';
import { createOperationFinder, createTargetFinder } from './route-path.ts';

/** A request for a path of the other process: a proxy or a client uses the wrong address. */
export interface MisroutedRequest {
  readonly fault: Fault;
  /** The error body of the path. */
  readonly target: FaultTarget;
}

/** Returns null for paths of this process and for paths that no process serves. `host` is the header of the request. */
export type MisroutedFinder = (path: string, host: string | undefined) => MisroutedRequest | null;

export interface MisroutedOptions {
  readonly operations: readonly Operation[];
  /** The process that answers. */
  readonly process: ServingProcess;
  /** The public address of the other process, if it is configured. */
  readonly otherUrl: string | null;
}

const described = {
  api: { here: 'an api, which does not serve inference', others: 'gateways' },
  gateway: { here: 'a gateway, which serves only inference', others: 'apis' },
} as const satisfies Record<ServingProcess, { readonly here: string; readonly others: string }>;

export function createMisroutedFinder({ operations, process, otherUrl }: MisroutedOptions): MisroutedFinder {
  const findOperation = createOperationFinder(operations);
  const targetOf = createTargetFinder(operations);
  const methods = [...new Set(operations.map(({ method }) => method))];
  const ownFolders = new Set(operations.filter(isOwn).flatMap(pathsOf).map(firstPart));
  const otherHost = otherUrl === null ? null : new URL(otherUrl).host;
  const { here, others } = described[process];

  function isOwn(operation: Operation): boolean {
    return processOf(operation) === process;
  }

  function isOther(path: string): boolean {
    const found = methods.flatMap((method) => findOperation(method, path) ?? []);
    if (found.length > 0) return !found.some(isOwn);
    // Proxies send the console, sign-in and pages to apis, which have no operations for them.
    return process === 'gateway' && !ownFolders.has(firstPart(path));
  }

  return (path, host) => {
    if (!isOther(path)) return null;
    // If the client already used that address, only the operator can correct the proxy.
    const suggestion =
      otherHost === null || otherHost === host
        ? `The proxy in front of this installation must route this path to ${others}: see "Health and load balancers" in the guide.`
        : `Send the request to ${otherUrl}.`;
    const target = targetOf(path);
    // Inference errors have no suggestion.
    const message = `The request reached ${here}.${target?.errorFamily === 'inference' ? ` ${suggestion}` : ''}`;
    return { fault: new Fault('MISROUTED_REQUEST', { message, suggestion }), target };
  };
}

function pathsOf({ path, aliases = [] }: Operation): readonly string[] {
  return [path, ...aliases];
}

function firstPart(path: string): string {
  return path.split('/', 2)[1] ?? '';
}
