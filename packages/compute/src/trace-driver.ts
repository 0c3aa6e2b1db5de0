import { inChildSpan } from '@millrace/platform/telemetry';
import type { ComputeDriver } from './driver.ts';

const tracedOperations: ReadonlySet<PropertyKey> = new Set<keyof ComputeDriver>([
  'readInventory',
  'create',
  'describe',
  'start',
  'stop',
  'reboot',
  'setKeys',
  'setGpus',
  'runUserData',
  'setPorts',
  'cutAccess',
  'terminate',
  'listOwned',
  'consoleLog',
  'metrics',
  'exec',
]);

/** Calls within a sampled trace get a span with engine and operation. Arguments stay out: they contain keys and user data. */
export function traceDriver(driver: ComputeDriver, cluster: string): ComputeDriver {
  return new Proxy(driver, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const call = (...values: unknown[]): unknown => Reflect.apply(value, target, values);
      if (!tracedOperations.has(property)) return call;
      const attributes = {
        'millrace.engine': target.kind,
        'millrace.cluster': cluster,
        'millrace.operation': String(property),
      };
      return (...values: unknown[]) =>
        inChildSpan('engine call', { kind: 'client', attributes }, async () => call(...values));
    },
  });
}
