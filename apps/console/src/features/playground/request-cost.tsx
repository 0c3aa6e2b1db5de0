import { useSession } from '../../api/session.tsx';
import { LiveCost, Money } from '../../ui/money.tsx';
import { useRequestUsage } from '../../api/request-usage.ts';

/** Cost of a response. In test mode also its cost in live mode, as soon as the service has recorded the request. */
export function RequestCost({
  nano,
  requestId,
}: Readonly<{ nano: number | null; requestId: string | null }>) {
  return (
    <>
      {nano === null ? 'pending…' : <Money nano={String(nano)} />}
      {requestId !== null && <RequestLiveCost requestId={requestId} />}
    </>
  );
}

function RequestLiveCost({ requestId }: Readonly<{ requestId: string }>) {
  const { place, may } = useSession();
  const { data } = useRequestUsage(requestId, { enabled: place.mode === 'test' && may('usage:read') });
  const live = data?.live_cost_nano_usd;
  return <LiveCost nano={live === undefined ? undefined : String(live)} />;
}
