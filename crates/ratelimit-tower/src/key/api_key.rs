//! The client is whoever sends this credential. Whether it is a valid one, another layer must have checked: keys that
//! anybody can invent are no identity (use [`super::FirstOf`] or a second policy by address against that).

use http::header::{AUTHORIZATION, HeaderName};

use super::{ClientKey, Head, KeyError, KeyExtractor};

/// A credential in a header.
#[derive(Debug, Clone)]
pub struct ApiKey {
    header: HeaderName,
    scheme: Option<&'static str>,
}

impl ApiKey {
    /// The value of this header, compared byte by byte.
    pub fn header(header: HeaderName) -> ApiKey {
        ApiKey { header, scheme: None }
    }

    /// The token of `Authorization: Bearer`. The scheme's case and the spaces after it make no difference; anything but
    /// one token (letters, digits, `-._~+/`, then `=`) is unusable.
    pub fn bearer() -> ApiKey {
        ApiKey { header: AUTHORIZATION, scheme: Some("bearer") }
    }

    fn credential<'r>(&self, field: &'r [u8]) -> Option<&'r [u8]> {
        let Some(scheme) = self.scheme else { return Some(field.trim_ascii()) };
        let (found, rest) = field.split_at_checked(scheme.len())?;
        let separated = rest.first() == Some(&b' ');
        let token = rest.trim_ascii();
        (found.eq_ignore_ascii_case(scheme.as_bytes()) && separated && is_token68(token)).then_some(token)
    }
}

/// RFC 9110, section 11.2. What follows a space is none of it: a server that reads the first word only would otherwise
/// see one token where we count many.
fn is_token68(token: &[u8]) -> bool {
    let padding = token.iter().rev().take_while(|byte| **byte == b'=').count();
    let content = &token[..token.len() - padding];
    !content.is_empty() && content.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte))
}

impl KeyExtractor for ApiKey {
    fn extract<'r>(&'r self, head: &Head<'r>, key: &mut ClientKey<'r>) -> Result<(), KeyError> {
        let mut fields = head.headers.get_all(&self.header).iter();
        let field = fields.next().ok_or(KeyError::Missing("API key"))?;
        // Two credentials are two clients: none of them is believed.
        if fields.next().is_some() {
            return Err(KeyError::Unusable("API key (sent twice)"));
        }
        match self.credential(field.as_bytes()) {
            Some(credential) if !credential.is_empty() => {
                key.push_credential("api_key", credential);
                Ok(())
            }
            _ => Err(KeyError::Unusable("API key")),
        }
    }
}
