import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Checklist } from '../../ui/checklist.tsx';
import type { Balance } from '../money/runway.ts';
import { dismiss, hasOwnKey, isComplete, isDismissed, onboardingSteps } from './onboarding.ts';

/** First steps after sign-up, until they are done or dismissed. */
export function OnboardingCard({ balance }: Readonly<{ balance: Balance | undefined }>) {
  const { place, me } = useSession();
  const [dismissed, setDismissed] = useState<string | null>(null);
  const { organisationId } = place;
  // Only owners and admins set up an organisation; others join one that is set up.
  const isForUser = me.role === 'owner' || me.role === 'admin';
  if (!isForUser || dismissed === organisationId || isDismissed(localStorage, organisationId)) return null;
  const close = (): void => {
    dismiss(localStorage, organisationId);
    setDismissed(organisationId);
  };
  return <Steps balance={balance} onClose={close} />;
}

function Steps({ balance, onClose }: Readonly<{ balance: Balance | undefined; onClose: () => void }>) {
  const {
    place: { mode },
  } = useSession();
  const keys = useApiQuery(['keys', 'any'], async (client, signal) => {
    const [apiKeys, sshKeys] = await Promise.all([
      client.keys.list({ limit: 20 }, { signal }),
      client.sshKeys.list({ limit: 1 }, { signal }),
    ]);
    return hasOwnKey(apiKeys.items, sshKeys.items);
  });
  const machine = useApiQuery(['rentals', 'any'], async (client, signal) => {
    const [rentals, ended, instances] = await Promise.all([
      client.rentals.list({ limit: 1 }, { signal }),
      client.rentals.listHistory({ limit: 1 }, { signal }),
      client.marketplace.instances.list({}, { signal }),
    ]);
    return [rentals, ended, instances].some(({ items }) => items.length > 0);
  });
  const money = useApiQuery(
    ['money', 'any'],
    async (client, signal) => (await client.ledger.list({ limit: 1 }, { signal })).items.length > 0,
  );
  const request = useApiQuery(
    ['usage', 'any'],
    async (client, signal) =>
      (await client.usage.list({ groupBy: 'model', limit: 1 }, { signal })).items.length > 0,
  );
  const isLoaded = [keys, machine, money, request].every(({ data }) => data !== undefined);
  if (!isLoaded) return null;
  const steps = onboardingSteps({
    mode,
    hasKey: keys.data === true,
    hasMoney: money.data === true || BigInt(balance?.availableNanoUsd ?? '0') > 0n,
    hasMachine: machine.data === true,
    hasRequest: request.data === true,
  });
  if (isComplete(steps)) return null;
  return (
    <Checklist
      title="Get started"
      steps={steps}
      actions={
        <Button kind="quiet" size="small" onClick={onClose}>
          Dismiss
        </Button>
      }
    />
  );
}
