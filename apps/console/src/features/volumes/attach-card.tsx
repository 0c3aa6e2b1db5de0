import { useState } from 'react';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useResourceNames } from '../../api/use-resource-names.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem, QueryView } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { useToast } from '../../ui/toast.tsx';
import { attachChoices } from './attach.ts';
import { volumeActionDisabledReason, type VolumeDetail } from './volume.ts';
import { Form } from '../../ui/form.tsx';
import { TextLink } from '../../ui/link.tsx';

export function AttachCard({ volume }: Readonly<{ volume: VolumeDetail }>) {
  const session = useSession();
  const denied = session.mayNot('volumes:write');
  const [detaching, setDetaching] = useState<number | null>(null);
  const { nameOf } = useResourceNames([], ['rental']);
  const rentalText = (id: number): string =>
    nameOf({ kind: 'rental', id: String(id) }) ?? `rental ${String(id)}`;
  const detachingText = detaching === null ? '' : rentalText(detaching);
  return (
    <Card title="Rentals" about="Rentals that can mount this volume.">
      {volume.attachedRentals.length === 0 ? (
        <p className="mb-3">Not attached to any rental.</p>
      ) : (
        <div className="border-line -mx-4 mb-3 border-b">
          <Table
            caption="Attached rentals"
            rows={volume.attachedRentals}
            rowKey={(id) => String(id)}
            columns={[
              {
                head: 'Rental',
                main: true,
                cell: (id) => (
                  <TextLink
                    to="/rentals/$rentalId"
                    params={{ rentalId: String(id) }}
                    className="text-accent underline-offset-2"
                  >
                    {nameOf({ kind: 'rental', id: String(id) }) ?? `Rental ${String(id)}`}
                  </TextLink>
                ),
              },
              {
                head: 'Actions',
                right: true,
                cell: (id) => (
                  <Button
                    size="small"
                    off={volumeActionDisabledReason('detach', volume, denied)}
                    onClick={() => setDetaching(id)}
                  >
                    Detach
                  </Button>
                ),
              },
            ]}
          />
        </div>
      )}
      {session.may('rentals:read') && <Attach volume={volume} denied={denied} />}
      <ConfirmDialog
        title={`Detach ${volume.label} from ${detachingText}?`}
        open={detaching !== null}
        onClose={() => setDetaching(null)}
        action="Detach"
        doing="Detaching…"
        run={(client) =>
          client.volumes.detach({
            storageVolumeId: volume.id,
            rentalIds: detaching === null ? [] : [detaching],
          })
        }
        changes={['volumes', 'rentals']}
        onDone={(toast) => toast(`Detached ${volume.label} from ${detachingText}`)}
      >
        <p>
          Unmount the volume on the machine first. The storage server rejects the rental within about a
          second, even with open files: unwritten data is lost.
        </p>
        <p>The volume and its data stay and keep billing.</p>
      </ConfirmDialog>
    </Card>
  );
}

function Attach({ volume, denied }: Readonly<{ volume: VolumeDetail; denied: string | false }>) {
  const toast = useToast();
  const [chosen, setChosen] = useState('');
  const rentals = useApiQuery(['rentals', 'for-volumes'], (client, signal) =>
    client.rentals.list({ limit: 200 }, { signal }).all({ max: 400 }),
  );
  const attach = useApiMutation(
    (client, rentalId: number) =>
      client.volumes.attach({ storageVolumeId: volume.id, rentalIds: [rentalId] }),
    {
      changes: ['volumes', 'rentals'],
      onSuccess: ({ message }) => {
        toast('Attached', message);
        setChosen('');
      },
    },
  );
  return (
    <QueryView query={rentals} what="rentals">
      {(all) => {
        const choices = attachChoices(all, volume);
        const first = choices.find(({ disabled }) => disabled !== true)?.value ?? '';
        const value = choices.some((choice) => choice.value === chosen) ? chosen : first;
        const none =
          value === '' &&
          `You have no running bare metal in ${volume.region}. Rent some there to use the volume.`;
        return (
          <Form className="flex flex-col gap-3" onSend={() => attach.mutate(Number(value))}>
            <div className="flex flex-wrap items-end gap-3">
              <div className="min-w-52 flex-1">
                <SelectField
                  label="Attach to"
                  value={value}
                  onValue={setChosen}
                  choices={
                    value === '' ? [{ value: '', label: 'No rentals available' }, ...choices] : choices
                  }
                />
              </div>
              <Button
                type="submit"
                busy={attach.isPending && 'Attaching…'}
                off={volumeActionDisabledReason('attach', volume, denied) || none}
              >
                Attach
              </Button>
            </div>
            {none !== false && (
              <p className="text-soft text-xs">
                <TextLink to="/catalog" search={{ region: volume.region, type: 'bare-metal' }}>
                  View offers of bare metal in {volume.region}
                </TextLink>
              </p>
            )}
            {attach.error !== null && <Problem error={attach.error} doing="attach the volume" />}
          </Form>
        );
      }}
    </QueryView>
  );
}
