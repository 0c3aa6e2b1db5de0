import { useState } from 'react';
import { useApiMutation } from '../../../api/queries.ts';
import { toProblem } from '../../../api/problem.ts';
import { useSession } from '../../../api/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { useToast } from '../../../ui/toast.tsx';
import { rentalActionDisabledReason } from '../actions.ts';
import { ExtendDialog } from './extend-dialog.tsx';
import { RebootDialog, StopDialog } from './power-dialogs.tsx';
import { hasEnded, rentalTitle, type Rental } from '../rental.ts';
import { TerminateDialog } from './terminate-dialog.tsx';

type OpenDialog = 'stop' | 'reboot' | 'extend' | 'terminate';

/** Action buttons. Those that make no sense in the present state are left out; others are disabled with the reason. */
export function RentalActions({ rental, isSmall }: Readonly<{ rental: Rental; isSmall?: boolean }>) {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const toast = useToast();
  const denied = useSession().mayNot('rentals:write');
  const start = useApiMutation((client, rentalId: number) => client.rentals.start({ rentalId }), {
    changes: ['rentals', 'money'],
    onSuccess: () => toast(`Starting ${rentalTitle(rental)}`),
  });
  const size = isSmall === true ? 'small' : 'medium';
  const close = (): void => setDialog(null);
  const isOff = rental.power === 'off';
  const of = (verb: Parameters<typeof rentalActionDisabledReason>[0]) =>
    rentalActionDisabledReason(verb, rental, denied);
  if (hasEnded(rental)) return null;
  const canStop = !isOff || of('stop') === false;
  return (
    <div className={`flex flex-wrap gap-2 ${isSmall === true ? 'justify-end md:justify-start' : ''}`}>
      {isOff && (
        <Button
          size={size}
          off={of('start')}
          busy={start.isPending && 'Starting…'}
          onClick={() =>
            start.mutate(rental.id, {
              onError: (error) => {
                const { title, advice } = toProblem(error);
                toast(`Could not start ${rentalTitle(rental)}`, [title, advice].filter(Boolean).join(' '));
              },
            })
          }
        >
          Start
        </Button>
      )}
      {(isSmall === true ? !isOff : canStop) && (
        <Button size={size} off={of('stop')} onClick={() => setDialog('stop')}>
          Stop
        </Button>
      )}
      {isSmall !== true && (
        <>
          {!isOff && (
            <Button size={size} off={of('reboot')} onClick={() => setDialog('reboot')}>
              Reboot
            </Button>
          )}
          <Button size={size} off={of('extend')} onClick={() => setDialog('extend')}>
            Extend
          </Button>
        </>
      )}
      <Button size={size} kind="danger" off={of('terminate')} onClick={() => setDialog('terminate')}>
        Terminate
      </Button>
      <StopDialog rental={rental} open={dialog === 'stop'} onClose={close} />
      <RebootDialog rental={rental} open={dialog === 'reboot'} onClose={close} />
      {dialog === 'extend' && <ExtendDialog rental={rental} onClose={close} />}
      <TerminateDialog rental={rental} open={dialog === 'terminate'} onClose={close} />
    </div>
  );
}
