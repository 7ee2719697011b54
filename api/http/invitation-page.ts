import { contentSecurityPolicy, pageHead } from './page-policy.js';

const style = `
:root{color-scheme:light dark;font:16px/1.6 system-ui,sans-serif}
body{max-width:32rem;margin:3rem auto;padding:0 1rem}
label{display:block;margin:.6rem 0}
input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.3rem}
button{font:inherit;margin-top:.6rem}
output{display:block;margin-top:1rem;white-space:pre-wrap;overflow-wrap:anywhere}
`;

/**
 * The invitation code stands after the # of the address, which no browser sends, so that no proxy or server logs it; the script removes it
 * from the address at once. The script requests relative addresses, because the page may be below a path prefix.
 */
const script = `
const code=location.hash.slice(1);
history.replaceState(null,'',location.pathname);
const form=document.querySelector('form');
const out=document.querySelector('output');
if(!code){form.hidden=true;out.textContent='This address has no code: open the link of the invitation.'}
form.onsubmit=async event=>{
  event.preventDefault();
  const filledFields=Object.fromEntries([...new FormData(form)].filter(([,value])=>value.trim()!==''));
  try{
    const answer=await fetch('v1/invitations/accept',{method:'POST',headers:{'Content-Type':'application/json'},body:JSON.stringify({...filledFields,code})});
    const json=await answer.json();
    if(!answer.ok){out.textContent=Object.values(json).flat().join('\\n');return}
    form.hidden=true;
    out.textContent='Welcome, '+json.full_name+'. You are a user of the account '+json.account.name+'.\\n\\nYour token, shown this once:\\n'+json.token;
  }catch(error){out.textContent=String(error)}
};
`;

/** The page that the link of an invitation leads to: it accepts the invitation and shows the token. */
export const invitationPage = `${pageHead('Join Strandlake')}<style>${style}</style>
<h1>Accept the invitation</h1>
<form>
<label>First name <input name="first_name" autocomplete="given-name"></label>
<label>Last name <input name="last_name" autocomplete="family-name"></label>
<label>Address of mail; may be left empty where the invitation names it <input name="email" type="email" autocomplete="email"></label>
<button>Join</button>
</form>
<output></output><script>${script}</script></html>
`;

/** The value of the header `Content-Security-Policy` for `invitationPage`. */
export const invitationPageCsp = contentSecurityPolicy({ script, style });
