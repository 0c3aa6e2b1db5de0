import { roleNames, type Role } from '@millrace/contract/scopes';
import type { Item } from '@millrace/sdk';
import { MailPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { useInstallation, useSession } from '../../api/session.tsx';
import { Badge, StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';
import { RelativeTime, Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import { OrganisationCard } from './organisation-card.tsx';
import { canAssignRole, roleMeanings } from './roles.ts';
import { Form } from '../../ui/form.tsx';
import { useCreateHash } from '../../app/use-create-hash.ts';

type Member = Item<'listMembers'>;
type Invitation = Item<'listInvitations'>;

/** Initial values of the form of an invitation. */
type InviteStart = Pick<Invitation, 'email' | 'role'>;

const newMember: InviteStart = { email: '', role: 'member' };

export function TeamPage() {
  const { me, mayNot } = useSession();
  const [inviting, setInviting] = useState<InviteStart | null>(null);
  useCreateHash(() => setInviting(mayNot('members:write') === false ? newMember : null));
  return (
    <>
      <PageHeader
        title="Team"
        about={`Members of ${me.organisation.name} and their roles.`}
        actions={
          <Button kind="primary" off={mayNot('members:write')} onClick={() => setInviting(newMember)}>
            Invite member
          </Button>
        }
      />
      <Members />
      <Invitations onInvite={setInviting} />
      <OrganisationCard />
      <CommandHint command={`millrace member list --organisation-id ${me.organisation.id}`} />
      <Dialog title="Invite member" open={inviting !== null} onClose={() => setInviting(null)}>
        {inviting !== null && <InviteForm start={inviting} onDone={() => setInviting(null)} />}
      </Dialog>
    </>
  );
}

function Members() {
  const { me, mayNot } = useSession();
  const organisationId = me.organisation.id;
  const [leaving, setLeaving] = useState<Member | null>(null);
  const pages = usePages(['team', 'members'], (client, signal) =>
    client.members.list({ organisationId }, { signal }),
  );
  const change = useApiMutation(
    (client, input: { readonly userId: string; readonly role: Role }) =>
      client.members.update({ organisationId, ...input }),
    { changes: ['team', 'me'] },
  );
  const off = mayNot('members:write');
  const onlyOwner = pages.data === undefined || pages.hasNextPage ? null : findOnlyOwner(pages.data.items);
  return (
    <Card flush title="Members">
      {change.error !== null && <Problem error={change.error} doing="change the role" />}
      <PagedTable
        pages={pages}
        what="members"
        caption="Members"
        icon={Users}
        empty="No members"
        columns={[
          {
            head: 'User',
            main: true,
            cell: (member) => (
              <>
                {member.name ?? member.email} {member.userId === me.user.id && <Badge>you</Badge>}
                <span className="text-soft block text-xs font-normal">{member.email}</span>
              </>
            ),
          },
          {
            head: 'Role',
            cell: (member) => (
              <SelectField
                label={`Role of ${member.email}`}
                hideLabel
                value={member.role}
                disabled={off !== false || change.isPending}
                title={off === false ? roleMeanings[member.role] : off}
                choices={roleNames.map((role) => ({
                  value: role,
                  label: role,
                  disabled: !canAssignRole(me.scopes, role),
                }))}
                onValue={(role) => change.mutate({ userId: member.userId, role })}
              />
            ),
          },
          { head: 'Joined', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
          {
            head: 'Actions',
            right: true,
            cell: (member) => (
              <Button
                size="small"
                kind="danger"
                off={off === false ? member.userId === onlyOwner && 'An organisation needs an owner.' : off}
                onClick={() => setLeaving(member)}
              >
                Remove
              </Button>
            ),
          },
        ]}
      />
      <RemoveMember member={leaving} onClose={() => setLeaving(null)} />
    </Card>
  );
}

/** Null closes the dialog. */
function RemoveMember({ member, onClose }: Readonly<{ member: Member | null; onClose: () => void }>) {
  const { me } = useSession();
  return (
    <ConfirmDialog
      title={`Remove ${member?.email ?? ''} from ${me.organisation.name}?`}
      open={member !== null}
      onClose={onClose}
      action="Remove"
      doing="Removing…"
      run={(client) =>
        client.members.remove({ organisationId: me.organisation.id, userId: member?.userId ?? '' })
      }
      changes={['team']}
    >
      <p>They lose access within a second, and their API keys in this organisation stop working.</p>
      <p>
        Resources that they created keep running and keep billing, because they belong to the organisation.
      </p>
    </ConfirmDialog>
  );
}

/** The user id of the only owner; null if there are several. */
function findOnlyOwner(members: readonly Member[]): string | null {
  const owners = members.filter(({ role }) => role === 'owner');
  return owners.length === 1 ? (owners[0]?.userId ?? null) : null;
}

function Invitations({ onInvite }: Readonly<{ onInvite: (start: InviteStart) => void }>) {
  const { me, mayNot } = useSession();
  const organisationId = me.organisation.id;
  const pages = usePages(['team', 'invitations'], (client, signal) =>
    client.invitations.list({ organisationId }, { signal }),
  );
  const cancel = useApiMutation(
    (client, invitationId: string) => client.invitations.cancel({ organisationId, invitationId }),
    { changes: ['team'] },
  );
  const off = mayNot('members:write');
  return (
    <Card
      flush
      title="Invitations"
      about="Invitations that are not accepted yet. Each can be accepted for seven days."
    >
      {cancel.error !== null && <Problem error={cancel.error} doing="cancel the invitation" />}
      <PagedTable<Invitation>
        pages={pages}
        what="invitations"
        caption="Invitations"
        icon={MailPlus}
        empty="No open invitations"
        hint="Invite people by email. Their role decides which pages and actions they have."
        action={
          <Button off={off} onClick={() => onInvite(newMember)}>
            Invite member
          </Button>
        }
        columns={[
          {
            head: 'Email',
            main: true,
            cell: ({ email, invitedBy }) => (
              <>
                {email}
                <span className="text-soft block text-xs font-normal">invited by {invitedBy.name}</span>
              </>
            ),
          },
          { head: 'Role', cell: ({ role }) => role },
          {
            head: 'Status',
            cell: ({ status, expiresAt }) => (
              <>
                <StateBadge state={status} />
                <span className="text-soft block text-xs">
                  {status === 'expired' ? 'since' : 'expires'} <RelativeTime at={expiresAt} />
                </span>
              </>
            ),
          },
          {
            head: 'Actions',
            right: true,
            cell: ({ id, email, role }) => (
              <span className="flex flex-wrap justify-end gap-2">
                <Button
                  size="small"
                  off={
                    off || (!canAssignRole(me.scopes, role) && 'This role has more permissions than yours.')
                  }
                  onClick={() => onInvite({ email, role })}
                >
                  Send again
                </Button>
                <Button size="small" off={off} onClick={() => cancel.mutate(id)}>
                  Cancel
                </Button>
              </span>
            ),
          },
        ]}
      />
    </Card>
  );
}

/** Without email, the inviter passes the link on. It is shown once. */
function InvitationLink(props: {
  readonly email: string;
  readonly link: string;
  readonly onDone: () => void;
}) {
  return (
    <div className="flex flex-col gap-3">
      <p>
        This installation does not send email. Share this link only with <strong>{props.email}</strong>:
        anyone with the link can sign up with that address and join. It is shown once; invite again to get a
        new link.
      </p>
      <Id value={props.link} what="invitation link" />
      <div className="flex justify-end">
        <Button kind="primary" onClick={props.onDone}>
          Done
        </Button>
      </div>
    </div>
  );
}

function InviteForm({ start, onDone }: Readonly<{ start: InviteStart; onDone: () => void }>) {
  const { me } = useSession();
  const installation = useInstallation();
  const toast = useToast();
  const [email, setEmail] = useState(start.email);
  const [role, setRole] = useState<Role>(start.role);
  const invite = useApiMutation(
    (client, input: { readonly email: string; readonly role: Role }) =>
      client.invitations.create({ organisationId: me.organisation.id, ...input }),
    {
      changes: ['team'],
      onSuccess: ({ link }) => {
        if (link !== null) return;
        // A repeated request after a lost response returns no link.
        if (installation.data?.mail === false)
          toast('Invited', 'The response with the link was lost. Invite again to get a new link.');
        else toast('Invited', `We sent an email to ${email}.`);
        onDone();
      },
    },
  );
  const link = invite.data?.link ?? null;
  if (link !== null) return <InvitationLink email={email} link={link} onDone={onDone} />;
  const fieldError = fieldIssue(invite.error, 'email');
  return (
    <Form className="flex flex-col gap-3" onSend={() => invite.mutate({ email, role })}>
      <TextField
        label="Email"
        type="email"
        required
        maxLength={255}
        value={email}
        error={fieldError}
        onValue={setEmail}
      />
      {start.email !== '' && (
        <p className="text-soft text-xs">
          A new invitation replaces the one that you sent before, and can be accepted for seven days.
        </p>
      )}
      <SelectField
        label="Role"
        hint={roleMeanings[role]}
        value={role}
        choices={roleNames.map((name) => ({
          value: name,
          label: name,
          disabled: !canAssignRole(me.scopes, name),
        }))}
        onValue={setRole}
      />
      {invite.error !== null && fieldError === undefined && <Problem error={invite.error} />}
      <div className="flex justify-end">
        <Button kind="primary" type="submit" busy={invite.isPending && 'Inviting…'}>
          Invite
        </Button>
      </div>
      <p className="text-soft text-xs">
        Organisation <Id value={me.organisation.id} what="organisation ID" />
      </p>
    </Form>
  );
}
