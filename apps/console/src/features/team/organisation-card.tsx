import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, DescriptionList } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { Form } from '../../ui/form.tsx';

export function OrganisationCard() {
  const { me, mayNot } = useSession();
  const { organisation } = me;
  const [name, setName] = useState(organisation.name);
  const rename = useApiMutation(
    (client, next: string) => client.organisations.update({ organisationId: organisation.id, name: next }),
    { changes: ['me', 'team'] },
  );
  const isSame = name.trim() === organisation.name;
  return (
    <Card title="Organisation">
      <DescriptionList
        items={[
          ['ID', <Id key="id" value={organisation.id} what="organisation ID" />],
          ['Slug', organisation.slug],
          ['Created', <Timestamp key="since" at={organisation.createdAt} />],
        ]}
      />
      <Form className="mt-4 flex max-w-sm flex-col gap-3" onSend={() => rename.mutate(name)}>
        <TextField
          label="Name"
          value={name}
          required
          maxLength={100}
          error={fieldIssue(rename.error, 'name')}
          onValue={setName}
        />
        {rename.error !== null && <Problem error={rename.error} doing="rename the organisation" />}
        <div>
          <Button
            type="submit"
            busy={rename.isPending && 'Saving…'}
            off={mayNot('organisation:write') || (isSame && 'The name is unchanged.')}
          >
            Rename
          </Button>
        </div>
      </Form>
    </Card>
  );
}
