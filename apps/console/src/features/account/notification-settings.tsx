import { noticeCategories, noticeCategoryNames, type NoticeCategory } from '@millrace/contract/notices';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { CheckboxField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Problem, QueryView } from '../../ui/states.tsx';

export function NotificationSettings() {
  const { me, place, mayNot } = useSession();
  const query = useApiQuery(['me', 'notices'], (client, signal) =>
    client.me.getNoticePreferences({}, { signal }),
  );
  const choose = useApiMutation(
    (client, choice: Partial<Record<NoticeCategory, boolean>>) =>
      client.me.updateNoticePreferences({ preferences: choice }),
    { changes: ['me'] },
  );
  const off = mayNot('notices:write');
  return (
    <Card
      title="Email notifications"
      about={`Choose the emails you get about ${me.organisation.name}${place.mode === 'test' ? ' in test mode' : ''}.`}
    >
      <QueryView query={query} what="notification settings">
        {({ email, preferences }) => (
          <fieldset className="flex flex-col gap-2" disabled={off !== false}>
            <legend className="mb-2">Sent to {email}</legend>
            {off !== false && <p className="text-soft text-xs">{off}</p>}
            {noticeCategoryNames.map((name) => (
              <CheckboxField
                key={name}
                label={noticeCategories[name]}
                checked={preferences[name].enabled}
                disabled={!preferences[name].available}
                {...(preferences[name].available ? {} : { hint: `Not sent to your role (${me.role}).` })}
                onValue={(value) => choose.mutate({ [name]: value })}
              />
            ))}
          </fieldset>
        )}
      </QueryView>
      {choose.error !== null && <Problem error={choose.error} doing="save your choice" />}
    </Card>
  );
}
