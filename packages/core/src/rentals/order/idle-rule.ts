import type { Mode } from '@millrace/platform/envelope';
import type { Reader } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { listRegionProviders } from '../../fleet/index.ts';
import { offerByKind } from './placement-request.ts';
import type { RentalKind } from '../model/rental.ts';

/**
 * Rejects an idle rule that could not be enforced. The platform runs nothing on bare metal that could measure it. Elsewhere the
 * driver must report GPU utilisation: without it a machine that seems idle may be computing.
 */
export function requireIdleRule({ kind }: { readonly kind: RentalKind }, gpuUse: boolean): void {
  if (kind === 'bare-metal') {
    throw new Fault('IDLE_RULE_NOT_SUPPORTED', {
      message: 'Idle rules are not supported on bare metal, because Millrace cannot measure its utilisation.',
    });
  }
  if (!gpuUse) throw new Fault('IDLE_RULE_NOT_SUPPORTED');
}

/** Whether create would accept an idle rule. The provider is not chosen yet, so every open one must report GPU utilisation. */
export async function acceptsIdleRules(
  reader: Reader,
  mode: Mode,
  { rentalType, region }: { readonly rentalType: 'virtual-machine' | 'bare-metal'; readonly region: string },
): Promise<boolean> {
  if (rentalType === 'bare-metal') return false;
  const providers = await listRegionProviders(reader, { mode, region, offer: offerByKind[rentalType] });
  return providers.every(({ open, gpuUse }) => !open || gpuUse);
}
