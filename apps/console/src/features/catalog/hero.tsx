import { useInstallation } from '../../api/session.tsx';
import { Money } from '../../ui/money.tsx';
import { KeyFigures, PageHeader } from '../../ui/page.tsx';
import type { CatalogSummary } from './offers.ts';
import { LinkButton } from '../../ui/link.tsx';

/** For those who have never been here: what this is, three facts, and the way in. */
export function Hero({ facts }: Readonly<{ facts: CatalogSummary | null }>) {
  const { data: installation } = useInstallation();
  const isOpen = installation?.signUp !== 'closed';
  return (
    <>
      <PageHeader
        title="GPUs that are there now, at the price you see"
        about="Rent a virtual machine or whole nodes, log in by SSH within minutes, and stop when you are done. Look around: nobody needs an account for that."
        actions={
          <>
            <LinkButton to="/sign-in">Sign in</LinkButton>
            {isOpen && (
              <LinkButton to="/sign-up" kind="primary">
                Sign up
              </LinkButton>
            )}
          </>
        }
      />
      {facts !== null && (
        <KeyFigures
          items={[
            {
              label: 'A GPU from',
              value:
                facts.lowestPerGpuNano === null ? (
                  'no price yet'
                ) : (
                  <>
                    <Money nano={facts.lowestPerGpuNano} />
                    <span className="text-soft text-sm font-normal"> an hour</span>
                  </>
                ),
              note: 'To the millisecond, from when the machine is proven usable',
            },
            {
              label: 'Free this moment',
              value: facts.gpusFree === 1 ? '1 GPU' : `${String(facts.gpusFree)} GPUs`,
              note:
                facts.regionsWithRoom === 1 ? 'In one region' : `In ${String(facts.regionsWithRoom)} regions`,
            },
            {
              label: 'If it cannot be made',
              value: 'It costs nothing',
              note: 'And what a review says is what the ledger says',
            },
          ]}
        />
      )}
    </>
  );
}
