import { errorRegistry, eventEnvelope, eventTypeNames, operationsOf } from '@millrace/contract';
import type { Contract, Operation } from '@millrace/contract';
import { createTypePrinter } from './print-types.ts';
import type { TypePrinter } from './print-types.ts';

/** Prints what `operation-types.ts` of the SDK says by inference, for the published package. */
export function printOperationTypes(contract: Contract): string {
  const printer = createTypePrinter([
    ...['OperationTypes', 'OperationId', 'Reason', 'EventType', 'MillraceEvent', 'Record', 'Uint8Array'],
  ]);
  const entries = operationsOf(contract).map((operation) => entryText(printer, operation));
  const event = printer.print(eventEnvelope, 'output');
  const declarations = printer.declarationsFor([...entries, event].join('\n'));
  return `${declarations.join('\n')}

/** Everything that can be told to an organisation, told apart by \`type\`. */
export type MillraceEvent = ${event};
export type EventType = ${quoted(eventTypeNames)};
/** Why a request was refused. */
export type Reason = ${quoted(Object.keys(errorRegistry))};

/** For each operation what it takes, what it answers, and what one event of its stream is. */
export interface OperationTypes {
${entries.join('\n')}
}

export type OperationId = keyof OperationTypes;

// Nothing but what says so is exported.
export {};
`;
}

function entryText(printer: TypePrinter, { id, params, query, body, response }: Operation): string {
  const inputs = [params, query, body]
    .filter((part) => part !== undefined)
    // What a path or a query holds is read from text, and sent as what it is read as.
    .map((part) => printer.print(part, 'input'));
  const input = inputs.length === 0 ? 'Record<never, never>' : inputs.map((part) => `(${part})`).join(' & ');
  const output = printer.print(response.schema, 'output');
  const event = response.event === undefined ? 'never' : printer.print(response.event, 'output');
  return `  ${id}: {\n    readonly input: ${input};\n    readonly output: ${output};\n    readonly event: ${event};\n  };`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' | ');
}
