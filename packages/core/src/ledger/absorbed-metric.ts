import type { Reader } from '@millrace/platform/db';
import { gauge } from '@millrace/platform/telemetry';
import { sumAbsorbed } from './absorbed.store.ts';

const absorbedGauge = gauge('millrace_operator_absorbed_nano_usd');

/** Every worker records the same value. */
export async function recordAbsorbed(reader: Reader): Promise<void> {
  absorbedGauge.record(Number(await sumAbsorbed(reader)));
}
