import { errorRegistry, eventEnvelope, eventTypeNames, operationsOf } from '@millrace/contract';
import type { Contract, Operation } from '@millrace/contract';
import { createTypePrinter } from './print-types.ts';
import type { TypePrinter } from './print-types.ts';

/** Prints the types that `operation-types.ts` of the SDK infers, for the published package. */
export function printOperationTypes(contract: Contract): string {
  const printer = createTypePrinter([
    ...['OperationTypes', 'OperationId', 'Reason', 'EventType', 'MillraceEvent', 'Record', 'Uint8Array'],
  ]);
  const entries = operationsOf(contract).map((operation) => entryText(printer, operation));
  const event = printer.print(eventEnvelope, 'output');
  const declarations = printer.declarationsFor([...entries, event].join('\n'));
  return `${declarations.join('\n')}

/** Every event of an organisation, discriminated by \`type\`. */
export type MillraceEvent = ${event};
export type EventType = ${quoted(eventTypeNames)};
/** Reason of a failed request. */
export type Reason = ${quoted(Object.keys(errorRegistry))};

/** Input, output and stream event of each operation. */
export interface OperationTypes {
${entries.join('\n')}
}

export type OperationId = keyof OperationTypes;

// Makes this file a module, so that only its exports are visible.
export {};
`;
}

function entryText(printer: TypePrinter, { id, params, query, body, response }: Operation): string {
  const inputs = [params, query, body]
    .filter((part) => part !== undefined)
    // Path and query values arrive as text; the SDK sends the type that they are parsed to.
    .map((part) => printer.print(part, 'input'));
  const input = inputs.length === 0 ? 'Record<never, never>' : inputs.map((part) => `(${part})`).join(' & ');
  const output = printer.print(response.schema, 'output');
  const event = response.event === undefined ? 'never' : printer.print(response.event, 'output');
  return `  ${id}: {\n    readonly input: ${input};\n    readonly output: ${output};\n    readonly event: ${event};\n  };`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' | ');
}
