import { DriverError } from '../driver-error.ts';

/** Label that injects a fault into a mock machine; arguments use it as prefix. */
const faultLabel = 'millrace.fault';

const minuteMs = 60_000;
// Every fault ends by itself, so that no machine on the test fleet becomes impossible to delete.
export const maxFaultMs = 24 * 60 * minuteMs;

interface Argument {
  readonly default: number;
  readonly least: number;
  readonly most: number;
}

const ms = (standard: number): Argument => ({ default: standard, least: 0, most: maxFaultMs });

/** All faults with their arguments. A test compares the README's table with this object. */
export const injectedFaults = {
  'boot-fails': {},
  'slow-boot': { after_ms: ms(5 * minuteMs) },
  'host-dies': { after_ms: ms(minuteMs), for_ms: ms(10 * minuteMs) },
  'engine-silent': { after_ms: ms(0), for_ms: ms(2 * minuteMs) },
  'stuck-terminate': { for_ms: ms(10 * minuteMs) },
  'wrong-gpu-count': { missing: { default: 1, least: 1, most: 64 } },
  'create-fails': {},
  'create-late': { after_ms: ms(minuteMs) },
  'lost-events': {},
  flaky: { every: { default: 3, least: 2, most: 1_000 } },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Argument>>>>;

export type InjectedFaultName = keyof typeof injectedFaults;
type ArgumentsOf<Name extends InjectedFaultName> = {
  readonly [Key in keyof (typeof injectedFaults)[Name]]: number;
};
export type InjectedFault = {
  [Name in InjectedFaultName]: { readonly name: Name } & ArgumentsOf<Name>;
}[InjectedFaultName];

const isFaultName = (name: string): name is InjectedFaultName => Object.hasOwn(injectedFaults, name);

/** Refuses misspelt faults, because a test with a fault that does nothing would prove nothing. */
export function readInjectedFault(labels: Readonly<Record<string, string>>): InjectedFault | null {
  const name = labels[faultLabel];
  const given = Object.keys(labels).filter((key) => key.startsWith(`${faultLabel}.`));
  if (name === undefined) {
    if (given.length > 0) throw invalidFaultError(`The label ${given[0]} requires the label ${faultLabel}.`);
    return null;
  }
  if (!isFaultName(name)) {
    throw invalidFaultError(`Unknown fault ${name}. Use one of: ${Object.keys(injectedFaults).join(', ')}.`);
  }
  const known: Readonly<Record<string, Argument>> = injectedFaults[name];
  for (const key of given) {
    if (!Object.hasOwn(known, key.slice(faultLabel.length + 1))) {
      throw invalidFaultError(`The fault ${name} has no argument ${key}.`);
    }
  }
  const values = Object.entries(known).map(([key, argument]) => [
    key,
    readArgument(`${faultLabel}.${key}`, labels[`${faultLabel}.${key}`], argument),
  ]);
  return { name, ...Object.fromEntries(values) } as InjectedFault;
}

function readArgument(label: string, text: string | undefined, argument: Argument): number {
  if (text === undefined) return argument.default;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= argument.least && value <= argument.most) return value;
  throw invalidFaultError(
    `The label ${label} must be a whole number from ${argument.least} to ${argument.most}.`,
  );
}

function invalidFaultError(message: string): DriverError {
  return new DriverError('refused', message);
}
