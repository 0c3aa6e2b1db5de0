import { parseDuration } from '@millrace/sdk/text';
import { useState } from 'react';
import { fieldIssue } from '../../../api/problem.ts';
import { useApiMutation } from '../../../api/queries.ts';
import { useSession } from '../../../api/session.tsx';
import { Button } from '../../../ui/button.tsx';
import { CheckboxField, TextArea, TextField } from '../../../ui/field.tsx';
import { Card } from '../../../ui/page.tsx';
import { Problem } from '../../../ui/states.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { useToast } from '../../../ui/toast.tsx';
import { rentalActionDisabledReason } from '../actions.ts';
import { rentalTitle, type Rental } from '../rental.ts';
import { tagLines, parseTags } from '../tags.ts';
import { Form } from '../../../ui/form.tsx';

interface Changes {
  readonly name?: string | null;
  readonly tags?: Readonly<Record<string, string>>;
  readonly ttlSeconds?: number | null;
  readonly maxUsd?: number | null;
  readonly convertToOnDemandOnExpiry?: boolean;
}

function useUpdate(rental: Rental) {
  const toast = useToast();
  return useApiMutation(
    (client, changes: Changes) => client.rentals.update({ rentalId: rental.id, ...changes }),
    { changes: ['rentals'], onSuccess: () => toast('Saved') },
  );
}

export function SettingsTab({ rental }: Readonly<{ rental: Rental }>) {
  const off = rentalActionDisabledReason('update', rental, useSession().mayNot('rentals:write'));
  return (
    <>
      <NameCard rental={rental} off={off} />
      <EndCard rental={rental} off={off} />
      {rental.currentTerm.termType === 'reserved' && <TermCard rental={rental} off={off} />}
    </>
  );
}

interface CardProps {
  readonly rental: Rental;
  readonly off: string | false;
}

function NameCard({ rental, off }: CardProps) {
  const update = useUpdate(rental);
  const [name, setName] = useState(rental.name ?? '');
  const [tags, setTags] = useState(tagLines(rental.tags));
  const read = parseTags(tags);
  const problem = 'problem' in read ? read.problem : undefined;
  return (
    <Card title="Name and tags">
      <Form
        className="flex max-w-lg flex-col gap-3"
        onSend={() => {
          if ('tags' in read)
            update.mutate({ name: name.trim() === '' ? null : name.trim(), tags: read.tags });
        }}
      >
        <TextField
          label="Name"
          hint={`Leave empty for no name. The console then shows ${rentalTitle({ ...rental, name: null })}.`}
          value={name}
          maxLength={255}
          onValue={setName}
          error={fieldIssue(update.error, 'name')}
        />
        <TextArea
          label="Tags"
          hint="One name=value per line, to group costs and machines. Leave empty to remove all tags."
          rows={3}
          value={tags}
          onValue={setTags}
          error={problem ?? fieldIssue(update.error, 'tags')}
        />
        {update.error !== null && <Problem error={update.error} doing="save the settings" />}
        <div>
          <Button
            type="submit"
            kind="primary"
            busy={update.isPending && 'Saving…'}
            off={off || (problem ?? false)}
          >
            Save
          </Button>
        </div>
      </Form>
    </Card>
  );
}

function EndCard({ rental, off }: CardProps) {
  const update = useUpdate(rental);
  const [ttl, setTtl] = useState('');
  const [maxUsd, setMaxUsd] = useState(rental.maxUsd === null ? '' : String(rental.maxUsd));
  const seconds = ttl.trim() === '' ? null : parseDuration(ttl);
  const isTtlWrong = ttl.trim() !== '' && seconds === null;
  const most = maxUsd.trim() === '' ? null : Number(maxUsd);
  const isMostWrong = most !== null && !(most > 0);
  return (
    <Card
      title="Automatic termination"
      about="Billing ends at that time, even if the termination is delayed."
    >
      <Form
        className="flex max-w-lg flex-col gap-3"
        onSend={() => {
          if (isTtlWrong || isMostWrong) return;
          update.mutate({ ...(seconds === null ? {} : { ttlSeconds: seconds }), maxUsd: most });
        }}
      >
        <p>
          {rental.expiresAt === null ? (
            'No time to live is set.'
          ) : (
            <>
              Terminates at <Timestamp at={rental.expiresAt} />.
            </>
          )}
        </p>
        <TextField
          label="Terminate after"
          hint={`From now, for example 90m, 8h or 3d. Leave empty to ${
            rental.expiresAt === null ? 'run without an end' : 'keep the current end'
          }.`}
          value={ttl}
          onValue={setTtl}
          error={
            isTtlWrong ? 'Enter a duration such as 90m, 8h or 3d.' : fieldIssue(update.error, 'ttlSeconds')
          }
        />
        <TextField
          label="Spending limit (USD)"
          hint="For the whole rental, including what it has cost so far. Leave empty for no limit."
          inputMode="decimal"
          value={maxUsd}
          onValue={setMaxUsd}
          error={isMostWrong ? 'Enter an amount such as 50 or 12.50.' : fieldIssue(update.error, 'maxUsd')}
        />
        {update.error !== null && <Problem error={update.error} doing="save the settings" />}
        <div className="flex flex-wrap gap-2">
          <Button type="submit" kind="primary" busy={update.isPending && 'Saving…'} off={off}>
            Save
          </Button>
          {rental.expiresAt !== null && (
            <Button off={off} onClick={() => update.mutate({ ttlSeconds: null })}>
              Remove time to live
            </Button>
          )}
        </div>
      </Form>
    </Card>
  );
}

function TermCard({ rental, off }: CardProps) {
  const update = useUpdate(rental);
  return (
    <Card title="After the term">
      <CheckboxField
        label="Continue on demand"
        hint="Otherwise the machine and its disk are deleted at the end of the term."
        checked={rental.convertToOnDemandOnExpiry === true}
        disabled={off !== false || update.isPending}
        onValue={(convertToOnDemandOnExpiry) => update.mutate({ convertToOnDemandOnExpiry })}
      />
      {off !== false && <p className="text-soft mt-1 text-xs">{off}</p>}
      {update.error !== null && <Problem error={update.error} doing="save the settings" />}
    </Card>
  );
}
